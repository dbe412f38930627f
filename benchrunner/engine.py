"""The public names for authors of backbones, methods and problems. The first use of some of them loads torch."""

from benchrunner.public_names import named_by_stub

__getattr__, __all__ = named_by_stub(__name__, __file__)
