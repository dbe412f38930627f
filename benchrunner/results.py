"""The public names for whoever runs studies and reads what they found: reports, trackers, executors and notebooks."""

from benchrunner.public_names import named_by_stub

__getattr__, __all__ = named_by_stub(__name__, __file__)
