"""Sentences of English-like text, by rule: good enough to cut text where a reader would not mind."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 64
"""Words of a sentence; a longer one is cut, so that its parts about fit a sequence of 128 tokens."""
_WIDEST = 16
"""Letters that count as a word where no blank comes sooner: a text without blanks has parts too."""
_ALONE = "[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
"""Chinese and Japanese characters, which count as words: no blanks stand between them, and most are pieces."""
_WORDS = rf"(?> *(?:{_ALONE}|[^ {_ALONE[1:-1]}]{{1,{_WIDEST}}}+)){{1,{LONGEST}}}"
_PART = re.compile(rf"{_WORDS}(?:(?=[ {_ALONE[1:]})|(?<={_ALONE})|\Z)|{_WORDS}")
"""Ends inside a word only where it holds nothing else."""
_WITHOUT_BLANKS = re.compile(_ALONE)

_ABBREVIATIONS = (
    "Ch|Dr|Eq|Ft|Jr|Lt|Mr|Ms|Mt|Sr|St|cf|pp|vs",
    "Aug|Col|Dec|Esq|Feb|Fig|Gen|Gov|Hon|Jan|Maj|Mme|Mrs|Nos|Nov|Oct|Rep|Rev|Sec|Sen|Sgt|Vol|e\\.g|i\\.e|viz",
    "Capt|Figs|Mlle|Pres|Prof|Sept",
    "Lieut|Sergt",
    "Messrs|approx",
)
"""A full stop behind one of these ends no sentence; a line for each width, since looking back takes one at a time. What
ends sentences as often (etc, Co, Sat) is left out."""


_NOT_AFTER = "".join(rf"(?<!\b(?:{group})\.)" for group in _ABBREVIATIONS)
_QUOTES = "\"'“”‘’«»(\\[_*"
_BORDER = re.compile(
    rf"[.!?](?=[\"'”’»)\]_*]* +[{_QUOTES}]*[^\W_a-zß-öø-ÿ])"  # then an upper-case letter, a digit, or another script
    rf"(?<!\b[^\W\d_a-zß-öø-ÿ]\.){_NOT_AFTER}"  # not an initial, not an abbreviation
    r"(?!(?<=\bNo\.) +[0-9])"
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
    return [part for one in sentences for part in (_cut(one) if _may_be_long(one) else (one,))]


def _may_be_long(sentence: str) -> bool:
    """Whether it needs the closer look, which takes longer."""
    if len(sentence) <= LONGEST:
        return False
    if len(sentence) > LONGEST * _WIDEST or sentence.count(" ") >= LONGEST:
        return True
    return not sentence.isascii() and _WITHOUT_BLANKS.search(sentence) is not None


def _cut(sentence: str) -> Iterator[str]:
    """In parts of at most so many words."""
    return (found[0].strip(" ") for found in _PART.finditer(sentence))
