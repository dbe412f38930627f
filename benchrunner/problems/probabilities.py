"""Turn scores into probabilities, and average the probabilities of several models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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
    mean = np.mean([softmax(scores.astype(np.float64)) for scores in members], axis=0)
    return np.asarray(np.log(np.maximum(mean, np.finfo(np.float32).tiny)), dtype=np.float32)


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """Return the probability of each logit by itself, as fp64."""
    import numpy as np

    return np.asarray(1 / (1 + np.exp(-np.clip(logits.astype(np.float64), -500, 500))))


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
