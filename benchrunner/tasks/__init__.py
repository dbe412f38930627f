"""Tasks: what is asked, on which data, and how answers are scored."""
