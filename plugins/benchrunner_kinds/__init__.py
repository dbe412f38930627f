"""Kinds of question: choices, marked words, several labels, spans, tags; files of words, and metrics."""

from benchrunner import named_by_stub

__getattr__, __all__ = named_by_stub(__name__, __file__)
