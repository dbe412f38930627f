"""A label for each word: the problem, its windows, IOB tags, and files with a word on each line."""
