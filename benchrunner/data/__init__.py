"""Data: where the rows of a task come from."""
