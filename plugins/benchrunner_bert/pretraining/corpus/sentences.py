"""Split text in English or a similar language into sentences, by rules for full stops and abbreviations.

The rules make some mistakes. Their purpose is to cut a corpus between sentences, not to analyse its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 64
"""Largest number of words in a sentence. Longer sentences are cut, so that a part roughly fits 128 tokens."""
_WIDEST = 16
"""Largest number of letters in a word. More letters without a blank count as several words, so they are cut too."""
IDEOGRAPH = "[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
"""Chinese and Japanese characters. Each counts as a word: no blanks separate them, and most are pieces."""
_WORDS = rf"(?> *(?:{IDEOGRAPH}|[^ {IDEOGRAPH[1:-1]}]{{1,{_WIDEST}}}+)){{1,{LONGEST}}}"
_PART = re.compile(rf"{_WORDS}(?:(?=[ {IDEOGRAPH[1:]})|(?<={IDEOGRAPH})|\Z)|{_WORDS}")
"""Up to `LONGEST` words. The part ends inside a word only if it holds nothing but that word."""
_WITHOUT_BLANKS = re.compile(IDEOGRAPH)

_ABBREVIATIONS = (
    "Ch|Dr|Eq|Ft|Jr|Lt|Mr|Ms|Mt|Sr|St|cf|pp|vs",
    "Aug|Col|Dec|Esq|Feb|Fig|Gen|Gov|Hon|Jan|Maj|Mme|Mrs|Nos|Nov|Oct|Rep|Rev|Sec|Sen|Sgt|Vol|e\\.g|i\\.e|viz",
    "Capt|Figs|Mlle|Pres|Prof|Sept",
    "Lieut|Sergt",
    "Messrs|approx",
)
"""A full stop after these does not end a sentence. There is a line for each length, because a look-behind has a fixed
length. Abbreviations that often end a sentence (etc, Co, Sat) are not listed."""


_NOT_AFTER = "".join(rf"(?<!\b(?:{group})\.)" for group in _ABBREVIATIONS)
_QUOTES = "\"'“”‘’«»(\\[_*"
_BORDER = re.compile(
    rf"[.!?](?=[\"'”’»)\]_*]* +[{_QUOTES}]*[^\W_a-zß-öø-ÿ])"  # then an upper-case letter, a digit, or another script
    rf"(?<!\b[^\W\d_a-zß-öø-ÿ]\.){_NOT_AFTER}"  # not an initial, not an abbreviation
    r"(?!(?<=\bNo\.) +[0-9])"
    r"[^ ]* +"
)


def split(text: str) -> list[str]:
    """Split a text with one paragraph per line into sentences. An empty line becomes an empty sentence."""
    parts = []
    start = 0
    for border in _BORDER.finditer(text):
        parts.append(text[start : border.end()].rstrip(" "))
        start = border.end()
    parts.append(text[start:])
    sentences = "\n".join(parts).split("\n")
    return [part for sentence in sentences for part in (_cut(sentence) if _may_be_long(sentence) else (sentence,))]


def _may_be_long(sentence: str) -> bool:
    """Whether a sentence can have more than `LONGEST` words. This is quicker than counting the words."""
    if len(sentence) <= LONGEST:
        return False
    if len(sentence) > LONGEST * _WIDEST or sentence.count(" ") >= LONGEST:
        return True
    return not sentence.isascii() and _WITHOUT_BLANKS.search(sentence) is not None


def _cut(sentence: str) -> Iterator[str]:
    """Cut a sentence into parts of at most `LONGEST` words."""
    return (match[0].strip(" ") for match in _PART.finditer(sentence))
