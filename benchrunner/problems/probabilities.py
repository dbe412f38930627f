"""Scores as probabilities, for problems that choose one of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def softmax(scores: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    import numpy as np

    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def mean_probability(scores: Sequence[np.ndarray]) -> np.ndarray:
    """Scores whose softmax is the mean of the members' probabilities; one member's scores stay as they are."""
    import numpy as np

    if len(scores) == 1:
        return scores[0]
    mean = np.mean([softmax(one.astype(np.float64)) for one in scores], axis=0)
    return np.asarray(np.log(np.maximum(mean, np.finfo(np.float32).tiny)), dtype=np.float32)
