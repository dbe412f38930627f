"""Kinds of question for benchrunner: choices, marked words, several labels, spans, tags; and files of words."""

from benchrunner import named_by_stub

__getattr__, __all__ = named_by_stub(__name__, __file__)
