"""Clusters for benchrunner: how fits reach workers on other machines, and how their runs come back."""

from benchrunner import named_by_stub

__getattr__, __all__ = named_by_stub(__name__, __file__)
