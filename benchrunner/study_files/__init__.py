"""Study files: comparisons as TOML files, with parameters and scales, read as studies."""
