"""The answers of one fit to questions with one right label each, with the probability of every label."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

SMALLEST = float(np.finfo(np.float32).tiny)
"""Smallest probability of a label that a row offers: probabilities of fp32 outputs that underflow are not 0."""


@final
@dataclass(frozen=True)
class LabelAnswers:
    """The answers of one fit to the rows of a split. Labels are numbers from 0."""

    gold: np.ndarray
    """The right label of each row, (rows,)."""
    given: np.ndarray
    """The answer to each row, (rows,)."""
    probabilities: np.ndarray
    """fp64 (rows, labels); 0 only for a label that a row does not offer, as where rows have different numbers of
    candidates."""

    @cached_property
    def confidence(self) -> np.ndarray:
        """The probability of each answer, (rows,)."""
        return self._probability_of(self.given)

    @cached_property
    def right(self) -> np.ndarray:
        """1 for each right answer, 0 for others, (rows,)."""
        return np.asarray(self.given == self.gold, dtype=np.float64)

    @cached_property
    def brier(self) -> np.ndarray:
        """The Brier score of each row, (rows,): squared errors of the probabilities of all labels (Brier 1950)."""
        return np.asarray((self.probabilities**2).sum(axis=1) - 2 * self._probability_of(self.gold) + 1)

    @cached_property
    def log_loss(self) -> np.ndarray:
        """The negative log-likelihood of each row's right label, (rows,)."""
        return np.asarray(-np.log(self._probability_of(self.gold)))

    @cached_property
    def scores(self) -> np.ndarray:
        """The log of each probability, (rows, labels): logits up to a number for each row; -inf if not offered."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probabilities))

    def _probability_of(self, labels: np.ndarray) -> np.ndarray:
        """Return the probability of one label of each row, (rows,)."""
        return np.asarray(np.take_along_axis(self.probabilities, labels[:, None], axis=1)[:, 0])

    def taken(self, rows: np.ndarray) -> LabelAnswers:
        """Return the answers to some rows."""
        return LabelAnswers(self.gold[rows], self.given[rows], self.probabilities[rows])


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return probabilities that sum to 1 over the last axis; at least `SMALLEST`, or 0 for a score of -inf."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    probabilities = powers / powers.sum(axis=-1, keepdims=True)
    return np.where(np.isneginf(scores), 0.0, np.maximum(probabilities, SMALLEST))
