"""Turn scores into probabilities, and average the probabilities of several models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return probabilities that sum to 1 over the last axis."""
    import numpy as np

    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
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

    mean = np.mean(probabilities, axis=0)
    return np.asarray(np.log(np.maximum(mean, np.finfo(np.float32).tiny)), dtype=np.float32)


def majority_scores(labels: Sequence[Any], values: Iterable[Any]) -> np.ndarray:
    """Return 1 for the most frequent of the values and 0 for other labels, fp32 (labels,).

    Among equally frequent labels, it is the first in the order of `labels`.
    """
    import numpy as np

    counts = Counter(values)
    majority = max(labels, key=lambda label: counts[label])
    return np.array([label == majority for label in labels], dtype=np.float32)


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """Return the probability of each logit by itself, as fp64."""
    import numpy as np

    inside = np.clip(logits.astype(np.float64), -500, 500)
    return np.asarray(1 / (1 + np.exp(-inside)))


def logit(probabilities: np.ndarray) -> np.ndarray:
    """Return fp32 logits whose sigmoids are the probabilities; 0 and 1 become large finite logits."""
    import numpy as np

    inside = np.clip(probabilities, 1e-12, 1 - 1e-12)
    return np.asarray(np.log(inside) - np.log1p(-inside), dtype=np.float32)


def mean_sigmoid(members: Sequence[np.ndarray]) -> np.ndarray:
    """Return logits whose sigmoid is the mean of the members' probabilities. A single member's logits stay as they are.

    Each member holds the logits of one model for the same rows.
    """
    import numpy as np

    if len(members) == 1:
        return members[0]
    return logit(np.mean([sigmoid(logits) for logits in members], axis=0))
