"""Linear layers fitted by scikit-learn, and the scaling of their inputs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
import torch
from torch import nn

from benchrunner.engine import steps

if TYPE_CHECKING:
    from benchrunner.engine import Job

ITERATIONS = 300
"""Most iterations of L-BFGS. With a weak penalty it needs more, but its outputs no longer change by 1 %."""
TOLERANCE = 1e-5
"""Largest element of the gradient of the mean loss at which a solver stops."""
NEWTON_WIDTH = 768
"""Most inputs for which a binary regression is solved by Newton's method, which is exact after a few steps. With more
inputs, L-BFGS is faster (measured on MRPC: 192 inputs 2.5 times slower, 768 inputs as fast)."""
LARGE = 100_000_000
"""Most numbers that are held in fp64: 800 MB."""
ABSENT = -1e4
"""Bias of a label without training rows: its probability is 0."""
CONSTANT = 1e-5
"""Standard deviation, as a share of the mean, below which an input is taken for constant: it is rounding error."""


@final
@dataclass(frozen=True)
class Layer:
    """A linear layer."""

    weight: np.ndarray
    """(outputs, inputs)"""
    bias: np.ndarray
    """(outputs,)"""

    def outputs(self, inputs: np.ndarray) -> np.ndarray:
        """Compute the outputs, (samples, outputs)."""
        return np.asarray(inputs @ self.weight.astype(inputs.dtype).T + self.bias.astype(inputs.dtype))

    def as_module(self) -> nn.Module:
        """Return the layer as a module in fp32 with the weights `output.weight` and `output.bias`."""
        outputs, inputs = self.weight.shape
        module = nn.ModuleDict({"output": nn.Linear(inputs, outputs)})
        weight = torch.from_numpy(self.weight).float()
        bias = torch.from_numpy(self.bias).float()
        module.load_state_dict({"output.weight": weight, "output.bias": bias})
        return module


def head_outputs(job: Job, vectors: np.ndarray) -> np.ndarray:
    """Compute the outputs of the layer that a fit kept as its head."""
    tensors = steps.learned_weights(job.model)
    return Layer(tensors["output.weight"].numpy(), tensors["output.bias"].numpy()).outputs(vectors)


@final
@dataclass(frozen=True)
class Scaling:
    """Mean and standard deviation of each input over the training rows."""

    mean: np.ndarray
    deviation: np.ndarray
    """Infinite for an input that is constant: its weight is 0."""

    @classmethod
    def of(cls, vectors: np.ndarray) -> Self:
        """Measure the vectors of all training rows."""
        mean = vectors.mean(axis=0, dtype=np.float64)
        deviation = vectors.std(axis=0, dtype=np.float64)
        return cls(mean, np.where(deviation > CONSTANT * np.abs(mean), deviation, np.inf))

    def scaled(self, vectors: np.ndarray) -> np.ndarray:
        """Return vectors with a mean of 0 and a standard deviation of 1; in fp64, unless they are very many."""
        kind = np.float64 if vectors.size <= LARGE else np.float32
        scaled: np.ndarray = np.subtract(vectors, self.mean.astype(kind), dtype=kind)
        scaled /= self.deviation.astype(kind)
        return scaled

    def folded(self, layer: Layer, *, shifted: bool) -> Layer:
        """Return the layer that gives for vectors the outputs of `layer` for scaled vectors.

        With `shifted` False, all outputs are shifted by the same number, for scores that are only compared.
        """
        weight = layer.weight / self.deviation
        return Layer(weight, layer.bias - weight @ self.mean if shifted else layer.bias)


def softmax_layer(inputs: np.ndarray, labels: np.ndarray, outputs: int, penalty: float) -> Layer:
    """Fit a multinomial logistic regression. Its outputs are the logits of all labels, absent ones included."""
    weight = np.zeros((outputs, inputs.shape[1]))
    bias = np.full(outputs, ABSENT)
    present = np.unique(labels)
    if len(present) == 1:
        bias[present] = 0.0
        return Layer(weight, bias)
    model = _logistic(inputs, labels, penalty)
    if len(present) == 2:  # scikit-learn gives the difference between the logits of the two labels
        weight[present[1]] = model.coef_[0]
        bias[present] = 0.0, model.intercept_[0]
    else:
        weight[present] = model.coef_
        bias[present] = model.intercept_
    return Layer(weight, bias)


def one_versus_rest_layer(inputs: np.ndarray, labels: np.ndarray, penalty: float) -> Layer:
    """Fit a binary logistic regression for each label; `labels` is 1 for each label of a sample and 0 for the others.

    A label that no sample has, or that every sample has, gets the logit of its smoothed share.
    """
    weight = np.zeros((labels.shape[1], inputs.shape[1]))
    bias = np.zeros(labels.shape[1])
    for number, has_label in enumerate(labels.T > 0):
        count = has_label.sum()
        others = len(has_label) - count
        if count == 0 or others == 0:
            bias[number] = np.log((count + 0.5) / (others + 0.5))
        else:
            model = _logistic(inputs, has_label, penalty)
            weight[number] = model.coef_[0]
            bias[number] = model.intercept_[0]
    return Layer(weight, bias)


def difference_layer(differences: np.ndarray, labels: np.ndarray, penalty: float) -> Layer:
    """Fit a binary logistic regression without bias to differences of vectors."""
    if len(np.unique(labels)) == 1:  # a single pair of texts
        differences = np.concatenate([differences, -differences])
        labels = np.concatenate([labels, 1 - labels])
        penalty = 2 * penalty
    model = _logistic(differences, labels, penalty, bias=False)
    return Layer(model.coef_.astype(np.float64), np.zeros(1))


def ridge_layer(inputs: np.ndarray, numbers: np.ndarray, penalty: float) -> Layer:
    """Fit a ridge regression of numbers on vectors, and return its weights and bias as a linear layer."""
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=penalty).fit(inputs, numbers.astype(inputs.dtype))
    return Layer(model.coef_[None].astype(np.float64), np.array([model.intercept_], dtype=np.float64))


def _logistic(inputs: np.ndarray, labels: np.ndarray, penalty: float, *, bias: bool = True) -> Any:
    """Fit scikit-learn's logistic regression, whose `C` is the inverse of the penalty.

    The weights are a sum of training rows, since the penalty shrinks all else to 0. So where rows are fewer than
    inputs, the regression is solved for the rows' coordinates in the space that they span.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    if len(inputs) < inputs.shape[1]:
        axes, coordinates = np.linalg.qr(inputs.T)
        model = _logistic(coordinates.T, labels, penalty, bias=bias)
        model.coef_ = model.coef_ @ axes.T
        return model
    is_small = inputs.shape[1] <= NEWTON_WIDTH and len(np.unique(labels)) == 2
    model = LogisticRegression(
        C=1 / penalty,
        solver="newton-cholesky" if is_small else "lbfgs",
        tol=TOLERANCE,
        max_iter=ITERATIONS,
        fit_intercept=bias,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # see ITERATIONS
        return model.fit(inputs, labels)
