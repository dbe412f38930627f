"""Study files: comparisons as TOML files, with the commands that build systems, published figures and dry runs."""
