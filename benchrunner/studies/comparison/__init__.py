"""Comparisons: the table of a study in every format, its legend and its conclusion in words."""
