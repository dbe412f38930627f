"""What tasks of several plugins share: tables in files and on the hub, and metrics."""

from benchrunner import named_by_stub

__getattr__, __all__ = named_by_stub(__name__, __file__)
