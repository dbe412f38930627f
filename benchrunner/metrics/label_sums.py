"""Metrics of labels as functions of sums over rows, such as counts of hits.

Sums are arrays (values, resamples): see `RowSums`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from benchrunner.metrics.label_matrix import label_matrix

if TYPE_CHECKING:
    import numpy as np


def label_row_values(gold: Sequence[Any], predicted: Sequence[Any], labels: Sequence[Any]) -> np.ndarray:
    """Mark the hits, the gold labels and the predicted labels of each row: (rows, 3 * labels)."""
    import numpy as np

    right, answers = label_matrix(gold, labels), label_matrix(predicted, labels)
    return np.concatenate([right & answers, right, answers], axis=1)


def average_f1_of_sums(average: Literal["f1", "macro", "micro", "weighted"], sums: np.ndarray) -> np.ndarray:
    """Compute an average of the labels' F1 from the sums of `label_row_values`; "f1" is the F1 of a single label."""
    import numpy as np

    hits, gold, predicted = np.split(sums, 3)
    mentions = gold + predicted
    if average == "f1":
        return np.where(mentions[0] > 0, 2 * hits[0] / np.maximum(mentions[0], 1), 0.0)
    if average == "micro":
        return np.asarray(2 * hits.sum(axis=0) / mentions.sum(axis=0))
    f1s = np.where(mentions > 0, 2 * hits / np.where(mentions > 0, mentions, 1), 0.0)
    weights = gold if average == "weighted" else (mentions > 0).astype(float)
    return np.asarray((f1s * weights).sum(axis=0) / weights.sum(axis=0))


def matthews_row_values(gold: Sequence[Any], predicted: Sequence[Any]) -> np.ndarray:
    """Mark whether the answer of each row is right, its gold label and its predicted label: (rows, 1 + 2 * labels)."""
    import numpy as np

    labels = list(dict.fromkeys([*gold, *predicted]))
    right, answers = label_matrix(gold, labels), label_matrix(predicted, labels)
    return np.concatenate([(right & answers).any(axis=1, keepdims=True), right, answers], axis=1)


def matthews_of_sums(sums: np.ndarray) -> np.ndarray:
    """Compute Matthews' correlation from the sums of `matthews_row_values`; 0 where either side is constant."""
    import numpy as np

    hits, (gold, predicted) = sums[0], np.split(sums[1:], 2)
    rows = gold.sum(axis=0)
    shared = hits * rows - (gold * predicted).sum(axis=0)
    spread = (rows**2 - (gold**2).sum(axis=0)) * (rows**2 - (predicted**2).sum(axis=0))
    return np.where(spread > 0, shared / np.sqrt(np.where(spread > 0, spread, 1)), 0.0)


def recall_row_values(gold: Sequence[Any], predicted: Sequence[Any]) -> np.ndarray:
    """Mark the hits and the gold labels of each row, for the labels of the gold answers: (rows, 2 * labels)."""
    import numpy as np

    labels = list(dict.fromkeys(gold))
    right = label_matrix(gold, labels)
    return np.concatenate([right & label_matrix(predicted, labels), right], axis=1)


def recall_of_sums(sums: np.ndarray) -> np.ndarray:
    """Compute the mean recall, over labels that gold answers have, from the sums of `recall_row_values`."""
    import numpy as np

    hits, gold = np.split(sums, 2)
    return np.asarray((hits / np.where(gold > 0, gold, 1)).sum(axis=0) / (gold > 0).sum(axis=0))
