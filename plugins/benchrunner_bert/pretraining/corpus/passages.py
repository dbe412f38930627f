"""Tell passages of text from headings, list lines and markup of extracted Wikipedia, line by line.

Devlin et al. 2019 take "only the text passages" of Wikipedia and ignore "lists, tables, and headers". The rules fit the
rows of the hub's wikimedia/wikipedia, files of WikiExtractor, and WikiText.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchrunner_bert.pretraining.corpus.sentences import IDEOGRAPH

SHORTEST = 8
"""Words of a passage. WikiExtractor ends headings with a full stop ("Etymology and definition."), so that only their
length tells headings from sentences."""

_MARKUP = re.compile(
    r"=+ .* =+$"  # a heading of WikiText or of wiki markup
    r"|[*#;:|!•·‣–—-]|\{\|"  # a list, a table
    r"|</?doc\b|Section::::|BULLET::::"  # WikiExtractor's own lines
)
"""Beginnings of lines that are no passages."""
_ENDS = ".!?…:。！？؟۔।॥։።"
"""Characters at the end of a sentence, in the scripts that have such characters."""
_SENTENCE_END = re.compile(rf"[{_ENDS}][\s\"'”’»›)\]}}」』]*$")
_WORD = re.compile(rf"{IDEOGRAPH}|\S+")


def is_passage(line: str) -> bool:
    """Whether a line without blanks around it is a passage: sentences, of eight words at least, without markup."""
    if _MARKUP.match(line) or not _SENTENCE_END.search(line[-8:]):
        return False
    return sum(1 for _ in _WORD.finditer(line[: SHORTEST * 100])) >= SHORTEST


def passages(document: str) -> Iterator[str]:
    """Give the lines of a document that are passages, without blanks around them.

    In the hub's Wikipedia, a line that begins with a blank is part of a list. In WikiText, all lines begin so.
    """
    lists_are_indented = not document.lstrip("\n").startswith(" ")
    for line in document.split("\n"):
        if not (lists_are_indented and line.startswith(" ")) and is_passage(line.strip()):
            yield line.strip()
