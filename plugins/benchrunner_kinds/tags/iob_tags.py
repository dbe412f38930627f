"""IOB tags: one tag per word marks phrases, in the scheme IOB1 or IOB2.

In both schemes O is a word outside of all phrases. In IOB2 the first word of a phrase has B-TYPE and the other words
have I-TYPE. In IOB1 every word of a phrase has I-TYPE, but the first word has B-TYPE where the word before it ends a
phrase of the same type. Both schemes are read by one rule: a phrase begins at B-, after O, and where the type changes.
So every sequence of tags, well-formed or not, marks exactly one set of phrases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from benchrunner import Metric, RowSums

if TYPE_CHECKING:
    import numpy as np

TAG = re.compile(r"O|[BI]-\S+")
"""Pattern of a tag: O, or B- or I- with the type of the phrase."""
OUTSIDE = "O"
"""Tag of a word outside of all phrases."""
Tags = Sequence[str]
Phrase = tuple[int, int, str]
"""The first word of a phrase, the word after its last, and its type."""


def iob_labels(types: Iterable[str]) -> tuple[str, ...]:
    """Return all tags: O, then B- and I- of each type."""
    return (OUTSIDE, *(f"{begin}-{kind}" for kind in types for begin in "BI"))


def begins_phrase(before: str, tag: str) -> bool:
    """Say whether a phrase begins at `tag`. `before` is the tag of the word before, O for the first word."""
    return tag != OUTSIDE and (tag.startswith("B") or before[2:] != tag[2:])


def as_iob2(tags: Iterable[str]) -> list[str]:
    """Rewrite the tags of a sentence in IOB2, so that they mark the same phrases."""
    return [f"B{tag[1:]}" if begins_phrase(before, tag) else tag for before, tag in pairwise([OUTSIDE, *tags])]


def schemes(sentences: Iterable[Tags]) -> set[str]:
    """Name the schemes, IOB1 and IOB2, of which tags give evidence; tags of one file may follow both.

    A phrase that does not follow directly on a phrase of its type begins with I- in IOB1 and with B- in IOB2, so the
    first phrase of every sentence tells the scheme. Sentences without phrases are the same in both schemes.
    """
    found = set[str]()
    for tags in sentences:
        for before, tag in pairwise([OUTSIDE, *tags]):
            if tag != OUTSIDE and before[2:] != tag[2:]:
                found.add("IOB2" if tag[0] == "B" else "IOB1")
    return found


def phrases(tags: Iterable[str]) -> set[Phrase]:
    """Read the phrases of a sentence from its tags, in either scheme. An I- tag that continues no phrase begins one."""
    found = list[Phrase]()
    for at, tag in enumerate(as_iob2(tags)):
        if tag[0] == "B":
            found.append((at, at + 1, tag[2:]))
        elif tag[0] == "I":
            first, _, kind = found.pop()
            found.append((first, at + 1, kind))
    return set(found)


def _counts(gold: Iterable[Tags], predicted: Iterable[Tags]) -> list[tuple[int, int, int]]:
    """Count the right phrases, the phrases of gold and the predicted phrases of each sentence."""
    pairs = ((phrases(right), phrases(answer)) for right, answer in zip(gold, predicted, strict=True))
    return [(len(right & answer), len(right), len(answer)) for right, answer in pairs]


def _metric(name: str, *parts: int, detail: bool = False) -> Metric:
    def figure(sums: np.ndarray) -> np.ndarray:
        """Divide the right phrases by the mean of other sums; 0 where there are none, as conlleval and seqeval do."""
        import numpy as np

        whole = sums[list(parts)].mean(axis=0)
        return np.where(whole > 0, sums[0] / np.where(whole > 0, whole, 1), 0.0)

    return Metric.of_sums(name, RowSums(_counts, figure), detail=detail)


def phrase_metrics(*, details: bool = False) -> tuple[Metric, Metric, Metric]:
    """Return F1, precision and recall over phrases of all types (micro average): the same words with the same type.

    `details` says whether precision and recall are left out of tables.
    """
    return _metric("f1", 1, 2), _metric("precision", 2, detail=details), _metric("recall", 1, detail=details)
