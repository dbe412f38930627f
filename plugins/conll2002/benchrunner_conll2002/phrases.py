"""Precision, recall and F1 of phrases, as conlleval counts them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from benchrunner import OUTSIDE, Metric, RowSums, begins_phrase

Tags = Sequence[str]
Phrase = tuple[int, int, str]
"""The first word of a phrase, the word after its last, and its type."""


def phrases(tags: Tags) -> set[Phrase]:
    """Read the phrases of a sentence from its tags. An I- tag that continues no phrase begins one."""
    found = set[Phrase]()
    begins = [at for at, (before, tag) in enumerate(pairwise([OUTSIDE, *tags])) if begins_phrase(before, tag)]
    for begin in begins:
        end = begin + 1
        while end < len(tags) and tags[end] != OUTSIDE and not begins_phrase(tags[end - 1], tags[end]):
            end += 1
        found.add((begin, end, tags[begin][2:]))
    return found


def counts(gold: Iterable[Tags], predicted: Iterable[Tags]) -> list[tuple[int, int, int]]:
    """Count the right phrases, the phrases of gold and the predicted phrases of each sentence."""
    pairs = ((phrases(right), phrases(answer)) for right, answer in zip(gold, predicted, strict=True))
    return [(len(right & answer), len(right), len(answer)) for right, answer in pairs]


def _shares(sums: Any, *parts: int) -> Any:
    """Divide the right phrases by the mean of other sums; 0 where there are none, as in the script."""
    import numpy as np

    whole = sum(sums[part] for part in parts) / len(parts)
    return np.where(whole > 0, sums[0] / np.where(whole > 0, whole, 1), 0.0)


def _metric(name: str, *parts: int) -> Metric:
    def compute(gold: Sequence[Tags], predicted: Sequence[Tags]) -> float:
        import numpy as np

        return float(_shares(np.array(counts(gold, predicted)).sum(axis=0), *parts))

    return Metric(name, compute, row_sums=RowSums(counts, lambda sums: _shares(sums, *parts)))


METRICS = (_metric("f1", 1, 2), _metric("precision", 2), _metric("recall", 1))
"""F1, precision and recall over phrases of all types: the same words with the same type."""
