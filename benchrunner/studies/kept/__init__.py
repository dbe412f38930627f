"""Kept studies: files in the runs folder that say what was compared, so that its result is read without fitting."""
