"""The kinds of problems that a probe learns: how rows become samples, which model is fitted, and its loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import log_softmax

from benchrunner_methods.probing.linear import (
    Layer,
    difference_layer,
    one_versus_rest_layer,
    ridge_layer,
    softmax_layer,
)


@final
@dataclass(frozen=True)
class Samples:
    """What a linear model learns from."""

    inputs: np.ndarray
    """(samples, width)"""
    targets: np.ndarray
    """(samples,) or (samples, outputs)"""
    units: np.ndarray
    """int64 (samples,): samples of the same unit, such as the words of a sentence, are in the same fold"""
    outputs: int
    """Number of outputs of the linear layer."""
    kind: Kind

    def of(self, chosen: np.ndarray) -> Samples:
        """Return the chosen samples."""
        return Samples(self.inputs[chosen], self.targets[chosen], self.units[chosen], self.outputs, self.kind)


class Kind(ABC):
    """A kind of problem."""

    parameter: str = "C"
    """Name of the regularisation in scikit-learn: `C`, the inverse of the penalty, or `alpha`, the penalty."""
    has_bias: bool = True
    """False for outputs that are only compared with each other, so that a bias means nothing."""

    def samples(self, inputs: np.ndarray, labels: np.ndarray, units: np.ndarray, outputs: int) -> Samples:
        """Make the samples; by default one for each vector. `labels` are the problem's targets."""
        return Samples(inputs, labels, units, outputs, self)

    def strata(self, samples: Samples) -> np.ndarray | None:
        """Return the label of each sample, by which folds are stratified; None if folds are drawn without labels."""
        return None

    @abstractmethod
    def fit(self, samples: Samples, penalty: float) -> Layer:
        """Fit the linear layer. The penalty is half the factor of the squared weights."""

    @abstractmethod
    def losses(self, samples: Samples, outputs: np.ndarray) -> np.ndarray:
        """Compute the loss of each sample from the layer's outputs."""


@final
class OneLabel(Kind):
    """One of several labels: multinomial logistic regression."""

    def strata(self, samples: Samples) -> np.ndarray | None:
        return samples.targets

    def fit(self, samples: Samples, penalty: float) -> Layer:
        return softmax_layer(samples.inputs, samples.targets, samples.outputs, penalty)

    def losses(self, samples: Samples, outputs: np.ndarray) -> np.ndarray:
        logs = log_softmax(outputs, axis=1)
        return np.asarray(-np.take_along_axis(logs, samples.targets[:, None], axis=1)[:, 0])


@final
class SeveralLabels(Kind):
    """Any number of labels: a logistic regression for each label (one versus rest)."""

    def fit(self, samples: Samples, penalty: float) -> Layer:
        return one_versus_rest_layer(samples.inputs, samples.targets, penalty)

    def losses(self, samples: Samples, outputs: np.ndarray) -> np.ndarray:
        return np.asarray(np.logaddexp(0, np.where(samples.targets > 0, -outputs, outputs)).mean(axis=1))


@final
class Number(Kind):
    """A number: ridge regression."""

    parameter = "alpha"

    def fit(self, samples: Samples, penalty: float) -> Layer:
        return ridge_layer(samples.inputs, samples.targets, penalty)

    def losses(self, samples: Samples, outputs: np.ndarray) -> np.ndarray:
        return np.asarray((outputs[:, 0] - samples.targets) ** 2)


@final
class Choice(Kind):
    """One of several texts: a logistic regression on the differences between the right text and each other text.

    The probability that the right text beats another text of its row is the sigmoid of the difference of their scores.
    """

    has_bias = False

    def samples(self, inputs: np.ndarray, labels: np.ndarray, units: np.ndarray, outputs: int) -> Samples:
        """Make a sample for each wrong text. The signs of differences alternate: a regression needs two labels."""
        rows = inputs.reshape(len(labels), -1, inputs.shape[1])
        is_right = np.arange(rows.shape[1]) == labels[:, None]
        wrong = rows[~is_right].reshape(len(rows), -1, inputs.shape[1])
        differences = (rows[is_right][:, None] - wrong).reshape(-1, inputs.shape[1])
        targets = np.arange(len(differences)) % 2
        signs = np.where(targets, 1, -1)[:, None].astype(inputs.dtype)
        owners = np.repeat(np.arange(len(rows)), rows.shape[1] - 1)
        return Samples(differences * signs, targets, owners, outputs, self)

    def fit(self, samples: Samples, penalty: float) -> Layer:
        return difference_layer(samples.inputs, samples.targets, penalty)

    def losses(self, samples: Samples, outputs: np.ndarray) -> np.ndarray:
        return np.asarray(np.logaddexp(0, np.where(samples.targets > 0, -outputs[:, 0], outputs[:, 0])))


KINDS: Mapping[str, Kind] = {
    "single_label_classification": OneLabel(),
    "token_classification": OneLabel(),
    "multi_label_classification": SeveralLabels(),
    "regression": Number(),
    "multiple_choice": Choice(),
}
"""Name of a problem's `ExportKind` -> how a probe learns it."""
