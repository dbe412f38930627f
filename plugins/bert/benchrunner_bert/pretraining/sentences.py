"""Sentences of English-like text, by rule: good enough to cut text where a reader would not mind."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 256
"""Words of a sentence; a longer one is cut."""

_ABBREVIATIONS = (
    "Mr Mrs Ms Messrs Mme Mlle Dr Prof Rev Hon St Sr Jr Gen Col Capt Lieut Lt Maj Sergt Sgt Gov Pres Sen Rep Esq "
    "Mt Ft No Nos Vol Ch Fig Figs Eq Sec pp vs viz cf al etc approx Inc Ltd Co Corp Bros Dept Univ "
    "Jan Feb Aug Sept Oct Nov Dec "
    "i.e e.g"
).split()
"""A full stop behind one of these ends no sentence. Words that end sentences themselves (Mar, Sat, in) are left out."""


def _not_after(words: list[str]) -> str:
    """Looking back takes one width at a time."""
    widths = sorted({len(word) for word in words})
    groups = ("|".join(re.escape(word) for word in words if len(word) == width) for width in widths)
    return "".join(rf"(?<!\b(?:{group})\.)" for group in groups)


_QUOTES = "\"'“”‘’«»(\\[_*"
_BORDER = re.compile(
    rf"[.!?](?=[\"'”’»)\]_*]* +[{_QUOTES}]*[^\W_a-zß-öø-ÿ])"  # then an upper-case letter, a digit, or another script
    rf"(?<!\b[^\W\d_a-zß-öø-ÿ]\.){_not_after(_ABBREVIATIONS)}"  # not an initial, not an abbreviation
    r"[^ ]* +"
)


def split(text: str) -> list[str]:
    """The sentences of a text with a paragraph on each line; an empty line stays, as an empty sentence."""
    found, start = [], 0
    for border in _BORDER.finditer(text):
        found.append(text[start : border.end()].rstrip(" "))
        start = border.end()
    found.append(text[start:])
    sentences = "\n".join(found).split("\n")
    return [part for one in sentences for part in (_cut(one) if len(one) > 2 * LONGEST else (one,))]


def _cut(sentence: str) -> Iterator[str]:
    """In parts of at most so many words."""
    words = sentence.split(" ")
    for at in range(0, len(words), LONGEST):
        yield " ".join(words[at : at + LONGEST])
