"""Tags that mark phrases, one a word: what they mean, in whichever of two schemes they are written.

In both, O is outside of all phrases. In IOB2 every phrase begins with B- and goes on with I-. In IOB1 every word of a
phrase is I-, but B- where it begins right after another one of its type. A tag that breaks both rules still says
something: a phrase begins at B-, after O, and where the type changes. So every sequence of these tags means exactly one
set of phrases.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

OUTSIDE = "O"


def iob_labels(types: Iterable[str]) -> tuple[str, ...]:
    """Every tag: O, and B- and I- of each type."""
    return (OUTSIDE, *(f"{begin}-{kind}" for kind in types for begin in "BI"))


def begins_phrase(before: str, tag: str) -> bool:
    """Whether a phrase begins at a tag; `before` is the one in front of it, O at the beginning of a sentence."""
    return tag != OUTSIDE and (tag.startswith("B") or before[2:] != tag[2:])


def as_iob2(tags: Iterable[str]) -> list[str]:
    """The same phrases in IOB2."""
    return [f"B{tag[1:]}" if begins_phrase(before, tag) else tag for before, tag in pairwise([OUTSIDE, *tags])]
