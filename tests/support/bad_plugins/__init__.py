"""A table of bad plugins, with the commands that meet them and what must come out: a module a kind of part."""
