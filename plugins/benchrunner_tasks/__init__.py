"""What tasks of several plugins share: data sets of the hub, tables and metrics."""

from benchrunner import named_by_stub

__getattr__, __all__ = named_by_stub(__name__, __file__)
