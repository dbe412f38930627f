"""The tag schemes IOB1 (the files of CoNLL-2003) and IOB2: telling them apart, and reading phrases from tags.

`benchrunner.begins_phrase` has the rule for where a phrase begins in either scheme. It is conlleval's rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from benchrunner import OUTSIDE, as_iob2, begins_phrase

TAG = re.compile(r"O|[BI]-\S+")
"""Pattern of a tag: O, or B- or I- with the type of the phrase."""

Phrase = tuple[int, int, str]
"""The index of the phrase's first word, the index after its last word, and its type."""


def as_iob1(tags: Iterable[str]) -> list[str]:
    """Write the phrases of a sentence in IOB1."""
    return [
        tag if tag == OUTSIDE else f"{'B' if begins_phrase(before, tag) and before[2:] == tag[2:] else 'I'}-{tag[2:]}"
        for before, tag in pairwise([OUTSIDE, *tags])
    ]


def phrases(tags: Iterable[str]) -> set[Phrase]:
    """Read the phrases of a sentence from its tags, in either scheme."""
    phrases_so_far: list[Phrase] = []
    for at, tag in enumerate(as_iob2(tags)):
        if tag[0] == "B":
            phrases_so_far.append((at, at + 1, tag[2:]))
        elif tag[0] == "I":
            first, _, kind = phrases_so_far.pop()
            phrases_so_far.append((first, at + 1, kind))
    return set(phrases_so_far)


def witnesses(sentences: Iterable[Sequence[str]]) -> dict[str, tuple[int, int]]:
    """Find, for each scheme, the sentence and the word of the first tag that only this scheme allows.

    A phrase that does not follow directly on a phrase of its type begins with I- in IOB1 and with B- in IOB2, so the
    first phrase of every sentence tells the scheme. Sentences without phrases are the same in both schemes.
    """
    places: dict[str, tuple[int, int]] = {}
    for row, tags in enumerate(sentences):
        for at, (before, tag) in enumerate(pairwise([OUTSIDE, *tags])):
            if tag != OUTSIDE and before[2:] != tag[2:]:
                places.setdefault("IOB2" if tag[0] == "B" else "IOB1", (row, at))
    return places
