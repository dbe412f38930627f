"""The tag schemes IOB1 (the files of CoNLL-2003) and IOB2: telling them apart, and reading phrases from tags.

`benchrunner_kinds.iob_tags` has the rule for where a phrase begins in either scheme. It is conlleval's rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from benchrunner_kinds import iob_tags

TAG = re.compile(r"O|[BI]-\S+")
"""Pattern of a tag: O, or B- or I- with the type of the phrase."""

Phrase = tuple[int, int, str]
"""The index of the phrase's first word, the index after its last word, and its type."""


def as_iob1(tags: Iterable[str]) -> list[str]:
    """Write the phrases of a sentence in IOB1."""
    written = []
    for before, tag in pairwise([iob_tags.OUTSIDE, *tags]):
        if tag != iob_tags.OUTSIDE:
            follows_its_kind = iob_tags.begins_phrase(before, tag) and before[2:] == tag[2:]
            tag = f"{'B' if follows_its_kind else 'I'}{tag[1:]}"
        written.append(tag)
    return written


def phrases(tags: Iterable[str]) -> set[Phrase]:
    """Read the phrases of a sentence from its tags, in either scheme."""
    phrases_so_far: list[Phrase] = []
    for at, tag in enumerate(iob_tags.as_iob2(tags)):
        if tag[0] == "B":
            phrases_so_far.append((at, at + 1, tag[2:]))
        elif tag[0] == "I":
            first, _, kind = phrases_so_far.pop()
            phrases_so_far.append((first, at + 1, kind))
    return set(phrases_so_far)
