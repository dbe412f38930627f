"""The speed of a training, for its log and its progress."""

from __future__ import annotations

import time

import numpy as np


class Speed:
    """Counts the examples of training steps, to give their number per second."""

    def __init__(self, examples: np.ndarray) -> None:
        self._examples = examples  # int64 (units,): the examples of each unit
        self.start()

    def start(self) -> None:
        """Begin to count anew."""
        self._count = 0
        self._started = time.perf_counter()

    def count(self, units: np.ndarray) -> None:
        """Count the examples of a batch of units."""
        self._count += int(self._examples[units].sum())

    def lap(self) -> float:
        """Give the examples per second since the last lap, and begin the next."""
        speed = self._count / max(time.perf_counter() - self._started, 1e-9)
        self.start()
        return speed
