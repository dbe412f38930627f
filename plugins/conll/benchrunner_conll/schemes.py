"""IOB1, which the files of CoNLL-2003 are in, and IOB2: told apart, and read as phrases.

What both are, and where a phrase begins_phrase, as conlleval has it, says `benchrunner.tagging`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from benchrunner import OUTSIDE, as_iob2, begins_phrase

TAG = re.compile(r"O|[BI]-\S+")
"""What a tag looks like; behind B- and I- stands the type of the phrase."""

Phrase = tuple[int, int, str]
"""Its first word, the word behind its last, and its type."""


def as_iob1(tags: Iterable[str]) -> list[str]:
    """The same phrases in IOB1."""
    return [
        tag if tag == OUTSIDE else f"{'B' if begins_phrase(before, tag) and before[2:] == tag[2:] else 'I'}-{tag[2:]}"
        for before, tag in pairwise([OUTSIDE, *tags])
    ]


def phrases(tags: Iterable[str]) -> set[Phrase]:
    """What a sentence's tags mean."""
    found: list[Phrase] = []
    for at, tag in enumerate(as_iob2(tags)):
        if tag[0] == "B":
            found.append((at, at + 1, tag[2:]))
        elif tag[0] == "I":
            first, _, kind = found.pop()
            found.append((first, at + 1, kind))
    return set(found)


def witnesses(sentences: Iterable[Sequence[str]]) -> dict[str, tuple[int, int]]:
    """Scheme -> sentence and word of the first tag that only this scheme allows.

    A phrase that does not touch another of its type begins with I- in IOB1 and with B- in IOB2, so the first phrase of
    every sentence tells. Without phrases there is no witness, and both schemes are the same.
    """
    found: dict[str, tuple[int, int]] = {}
    for row, tags in enumerate(sentences):
        for at, (before, tag) in enumerate(pairwise([OUTSIDE, *tags])):
            if tag != OUTSIDE and before[2:] != tag[2:]:
                found.setdefault("IOB2" if tag[0] == "B" else "IOB1", (row, at))
    return found
