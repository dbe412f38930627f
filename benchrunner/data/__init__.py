"""Data: sources of a task's rows: delimited files, JSON lines, functions."""
