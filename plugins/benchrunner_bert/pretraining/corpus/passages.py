"""Tell passages of text from headings, lists and markup of extracted Wikipedia.

Devlin et al. 2019 take "only the text passages" of Wikipedia and ignore "lists, tables, and headers". The rules fit the
rows of the hub's wikimedia/wikipedia, files of WikiExtractor, and WikiText. Most are about one line; numbered lists and
bibliographies are told by two lines in a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise

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
_NUMBERED = re.compile(r"[\[(]?(?:\d{1,4}\s?[.):\]–—-]+|(?:[a-z]|[ivx]{2,5})[.)\]])\s")
"""Beginnings of entries: "1. ", "(2) ", "[3] ", "b) ", "iv. ", and "1998 – " of a list of years."""
LONGEST_REFERENCE = 400
"""Characters of a work in a bibliography. Paragraphs of prose that cite a page are longer."""
_NAME = r"(?:[^\W\d_a-z][\w.'’-]*|and|&|et al\.|d[aeiu]|de[lnr]|l[ae]|v[ao]n)"
_REFERENCE = re.compile(
    rf"^(?=[^(]*,)(?:{_NAME}[,;]? )+\((?:[^()]* )?\d{{4}}[a-z]?\)[.,:]"  # Smith, J.; Doe, Jane (May 1999).
    r"|: [^:;]{2,60}, \d{4}\.$"  # London: Macmillan, 1999.
    r"|\d ?\(\d+\) ?: ?\d"  # volume 12 (3): page 45
    r"|\bpp? ?\. ?\d|\bRetrieved (?:on )?(?:\d|[A-Z]\w+ \d)"
    r"|\b(?:ISBN|ISSN|OCLC|PMID|JSTOR|arXiv|(?i:doi))[: ]+\d"
)
"""What a line of a bibliography holds: authors and year, publisher and year, a page, or the number of a work."""
_ENDS = ".!?…:。！？؟۔।॥։።"
"""Characters at the end of a sentence, in the scripts that have such characters."""
_SENTENCE_END = re.compile(rf"[{_ENDS}][\s\"'”’»›)\]}}」』]*$")
_WORD = re.compile(rf"{IDEOGRAPH}|\S+")


def is_passage(line: str) -> bool:
    """Whether a line without blanks around it is a passage: sentences, of eight words at least, without markup."""
    if _MARKUP.match(line) or not _SENTENCE_END.search(line[-8:]):
        return False
    return sum(1 for _ in _WORD.finditer(line[: SHORTEST * 100])) >= SHORTEST


def passages(paragraphs: Iterable[str]) -> Iterator[str]:
    """Give the paragraphs that are passages, and the empty ones, which end documents.

    Two entries or more in a row are a list, whatever they say. An entry alone may be prose that begins with a number.
    """
    was_entry = False
    for paragraph, after in pairwise(chain(paragraphs, ("",))):
        entry = is_entry(paragraph)
        if not paragraph or (is_passage(paragraph) and not (entry and (was_entry or is_entry(after)))):
            yield paragraph
        was_entry = entry


def is_entry(line: str) -> bool:
    """Whether a line without blanks around it looks like a numbered line of a list, or a work of a bibliography."""
    return bool(_NUMBERED.match(line) or (len(line) <= LONGEST_REFERENCE and _REFERENCE.search(line)))


def passages_of_document(document: str) -> Iterator[str]:
    """Give the lines of a document that are passages, without blanks around them.

    In the hub's Wikipedia, a line that begins with a blank is part of a list. In WikiText, all lines begin so.
    """
    lists_are_indented = not document.lstrip("\n").startswith(" ")
    lines = document.split("\n")
    if lists_are_indented:
        lines = [line for line in lines if not line.startswith(" ")]
    return passages(filter(None, map(str.strip, lines)))
