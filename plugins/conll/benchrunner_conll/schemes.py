"""IOB1 and IOB2: two ways to write phrases down as one tag a word.

In both, O is outside of all phrases. In IOB2 every phrase begins with B- and goes on with I-. In IOB1, which the files
of CoNLL-2003 are in, every word of a phrase is I-, but B- where it begins right after another one of its type. A tag
that breaks both rules still says something: a phrase begins at B-, after O, and where the type changes, as conlleval
has it. So every sequence of these tags means exactly one set of phrases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

OUTSIDE = "O"
TAG = re.compile(r"O|[BI]-\S+")
"""What a tag looks like; behind B- and I- stands the type of the phrase."""

Phrase = tuple[int, int, str]
"""Its first word, the word behind its last, and its type."""


def as_iob2(tags: Iterable[str]) -> list[str]:
    """The same phrases in IOB2."""
    return [f"B-{tag[2:]}" if _begins(before, tag) else tag for before, tag in _pairs(tags)]


def as_iob1(tags: Iterable[str]) -> list[str]:
    """The same phrases in IOB1."""
    return [
        tag if tag == OUTSIDE else f"{'B' if _begins(before, tag) and before[2:] == tag[2:] else 'I'}-{tag[2:]}"
        for before, tag in _pairs(tags)
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
        for at, (before, tag) in enumerate(_pairs(tags)):
            if tag != OUTSIDE and before[2:] != tag[2:]:
                found.setdefault("IOB2" if tag[0] == "B" else "IOB1", (row, at))
    return found


def _begins(before: str, tag: str) -> bool:
    """Whether a phrase begins at a tag, by conlleval's rules."""
    return tag != OUTSIDE and (tag[0] == "B" or before[2:] != tag[2:])


def _pairs(tags: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each tag with the one before it."""
    return pairwise([OUTSIDE, *tags])
