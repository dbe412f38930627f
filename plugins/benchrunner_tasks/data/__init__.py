"""Checks of the data of tasks, and the command that prints them."""
