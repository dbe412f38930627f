"""What families of backbones share: files on the hub, weights, tokenizers, words and attention."""

from benchrunner import named_by_stub

__getattr__, __all__ = named_by_stub(__name__, __file__)
