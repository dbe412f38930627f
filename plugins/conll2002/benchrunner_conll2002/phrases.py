"""Precision, recall and F1 of phrases, as conlleval counts them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from benchrunner import Metric, RowSums, iob_tags

if TYPE_CHECKING:
    import numpy as np

Tags = Sequence[str]
Phrase = tuple[int, int, str]
"""The first word of a phrase, the word after its last, and its type."""


def phrases(tags: Tags) -> set[Phrase]:
    """Read the phrases of a sentence from its tags. An I- tag that continues no phrase begins one."""
    found = set[Phrase]()
    for begin, (before, tag) in enumerate(pairwise([iob_tags.OUTSIDE, *tags])):
        if iob_tags.begins_phrase(before, tag):
            found.add((begin, _end(tags, begin), tag[2:]))
    return found


def _end(tags: Tags, begin: int) -> int:
    """Return the word after the last of the phrase that begins at a word."""
    for at in range(begin + 1, len(tags)):
        if tags[at] == iob_tags.OUTSIDE or iob_tags.begins_phrase(tags[at - 1], tags[at]):
            return at
    return len(tags)


def counts(gold: Iterable[Tags], predicted: Iterable[Tags]) -> list[tuple[int, int, int]]:
    """Count the right phrases, the phrases of gold and the predicted phrases of each sentence."""
    pairs = ((phrases(right), phrases(answer)) for right, answer in zip(gold, predicted, strict=True))
    return [(len(right & answer), len(right), len(answer)) for right, answer in pairs]


def _metric(name: str, *parts: int) -> Metric:
    def figure(sums: np.ndarray) -> np.ndarray:
        """Divide the right phrases by the mean of other sums; 0 where there are none, as in the script."""
        import numpy as np

        whole = sums[list(parts)].mean(axis=0)
        return np.where(whole > 0, sums[0] / np.where(whole > 0, whole, 1), 0.0)

    return Metric.of_sums(name, RowSums(counts, figure))


METRICS = (_metric("f1", 1, 2), _metric("precision", 2), _metric("recall", 1))
"""F1, precision and recall over phrases of all types: the same words with the same type."""
