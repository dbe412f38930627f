"""Data: sources of a task's rows: delimited files, data sets on the hub, functions."""
