"""Turn labels into numbers and scores into probabilities, and average the probabilities of several models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return probabilities that sum to 1 over the last axis."""
    import numpy as np

    highest = scores.max(axis=-1, keepdims=True)
    powers = np.exp(scores - highest)
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def mean_probability(members: Sequence[np.ndarray]) -> np.ndarray:
    """Return scores whose softmax is the mean of the members' probabilities. A single member's scores stay as they are.

    Each member holds the scores of one model for the same rows.
    """
    import numpy as np

    if len(members) == 1:
        return members[0]
    return log_of_mean([softmax(scores.astype(np.float64)) for scores in members])


def log_of_mean(probabilities: Sequence[np.ndarray]) -> np.ndarray:
    """Return the log of the mean of several models' probabilities, fp32; finite also where the mean is 0."""
    import numpy as np

    smallest = np.finfo(np.float32).tiny
    mean = np.mean(probabilities, axis=0)
    return np.asarray(np.log(np.maximum(mean, smallest)), dtype=np.float32)


def majority_scores(labels: Sequence[Any], values: Iterable[Any]) -> np.ndarray:
    """Return 1 for the most frequent of the values and 0 for other labels, fp32 (labels,).

    Among equally frequent labels, it is the first in the order of `labels`.
    """
    import numpy as np

    counts = Counter(values)
    majority = max(labels, key=counts.__getitem__)
    return np.array([label == majority for label in labels], dtype=np.float32)


def label_numbers(values: Iterable[Any], labels: Sequence[Any]) -> np.ndarray:
    """Return the place of each value in `labels`, int64 (values,)."""
    import numpy as np

    number_of = {label: number for number, label in enumerate(labels)}
    return np.fromiter((number_of[value] for value in values), dtype=np.int64)


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """Return the probability of each logit by itself, as fp64."""
    import numpy as np

    inside = np.clip(logits.astype(np.float64), -500, 500)
    return np.asarray(1 / (1 + np.exp(-inside)))


def logit(probabilities: np.ndarray) -> np.ndarray:
    """Return fp32 logits whose sigmoids are the probabilities; 0 and 1 become large finite logits."""
    import numpy as np

    inside = np.clip(probabilities, 1e-12, 1 - 1e-12)
    logits = np.log(inside) - np.log1p(-inside)
    return np.asarray(logits, dtype=np.float32)


def mean_sigmoid(members: Sequence[np.ndarray]) -> np.ndarray:
    """Return logits whose sigmoid is the mean of the members' probabilities. A single member's logits stay as they are.

    Each member holds the logits of one model for the same rows.
    """
    import numpy as np

    if len(members) == 1:
        return members[0]
    probabilities = [sigmoid(logits) for logits in members]
    return logit(np.mean(probabilities, axis=0))
