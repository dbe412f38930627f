"""What a probe reads and learns: vectors of the frozen encoder, samples made of them, and a model for each problem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import torch
from scipy.special import log_softmax

from benchrunner import PluginError
from benchrunner.engine import Features, steps
from benchrunner_methods import frozen_states
from benchrunner_methods.probing.linear import (
    Layer,
    difference_layer,
    one_versus_rest_layer,
    ridge_layer,
    softmax_layer,
)
from benchrunner_methods.text_vectors import texts_apart, unit_vectors

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner.engine import Encoder, Job
    from benchrunner_methods.probing.linear import Scaling


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
        of_targets = np.take_along_axis(logs, samples.targets[:, None], axis=1)
        return np.asarray(-of_targets[:, 0])


@final
class SeveralLabels(Kind):
    """Any number of labels: a logistic regression for each label (one versus rest)."""

    def fit(self, samples: Samples, penalty: float) -> Layer:
        return one_versus_rest_layer(samples.inputs, samples.targets, penalty)

    def losses(self, samples: Samples, outputs: np.ndarray) -> np.ndarray:
        losses = np.logaddexp(0, np.where(samples.targets > 0, -outputs, outputs))
        return np.asarray(losses.mean(axis=1))


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
        count = len(labels)
        width = inputs.shape[1]
        rows = inputs.reshape(count, -1, width)  # (rows, texts, width)
        texts = rows.shape[1]
        is_right = np.arange(texts) == labels[:, None]
        right = rows[is_right].reshape(count, 1, width)
        wrong = rows[~is_right].reshape(count, texts - 1, width)
        differences = (right - wrong).reshape(-1, width)
        targets = np.arange(len(differences)) % 2
        signs = np.where(targets, 1, -1).astype(inputs.dtype)
        owners = np.repeat(np.arange(count), texts - 1)
        return Samples(differences * signs[:, None], targets, owners, outputs, self)

    def fit(self, samples: Samples, penalty: float) -> Layer:
        return difference_layer(samples.inputs, samples.targets, penalty)

    def losses(self, samples: Samples, outputs: np.ndarray) -> np.ndarray:
        scores = outputs[:, 0]
        return np.asarray(np.logaddexp(0, np.where(samples.targets > 0, -scores, scores)))


KINDS: Mapping[str, Kind] = {
    "single_label_classification": OneLabel(),
    "token_classification": OneLabel(),
    "multi_label_classification": SeveralLabels(),
    "regression": Number(),
    "multiple_choice": Choice(),
}
"""Name of a problem's `ExportKind` -> how a probe learns it."""


@final
@dataclass(frozen=True)
class Vectors:
    """The vectors of one table."""

    vectors: np.ndarray
    """fp32 (sequences, width), or (words, width) of a task that labels words"""
    sequences: Features
    """The sequences of the vectors, with their targets; for a task that labels words, the words of each sentence."""
    tokens: int
    """Number of tokens that the encoder read."""
    source: str
    """Says in words which states the vectors are."""


SUMMARIES = {
    "pooler": "encoder's own summary",
    "first": "first token",
    "last": "last token",
    "mean": "mean over tokens",
    "max": "maximum over tokens",
}
"""A recipe's `summary` in words."""


def read(encoder: Encoder, job: Job, table: pa.Table) -> Vectors:
    """Compute the vectors of a table, or read them from the cache; those of pairs as the method's parameter says."""
    if job.parameters.get("pairs") != "apart" or "b" not in table.column_names:
        return _read(encoder, job, table)
    first, second = (_read(encoder, job, part) for part in texts_apart(table))
    u = unit_vectors(first.vectors)
    v = unit_vectors(second.vectors)
    vectors = np.concatenate([np.abs(u - v), u * v], axis=1)
    return Vectors(vectors, first.sequences, first.tokens + second.tokens, f"{first.source}, of each text alone")


def _read(encoder: Encoder, job: Job, table: pa.Table) -> Vectors:
    """Compute the vectors of the sequences of a table.

    The vectors of the layers that the recipe names are concatenated, or averaged if `features` is a weighted sum: a
    probe does not train the weights of layers.
    """
    features = steps.encode(job, table, encoder, training=False)
    device = torch.device(job.computing.device)
    shape = job.problem.head
    encoder.to(device).eval()
    choice = job.fit.recipe.features
    depth = frozen_states.depth(encoder, features, device)
    layers = frozen_states.chosen_layers(choice, depth)
    if shape.level == "sequence":
        sequences = features
        summary = job.fit.recipe.summary if shape.reads_summary else "first"
        source = SUMMARIES[summary]
        parts = frozen_states.vectors(frozen_states.Summaries(summary), encoder, features, layers, job)
    else:
        source = "first piece of each word"
        positions, sequences = job.problem.recurrent_sequences(features, table)
        states = frozen_states.vectors(frozen_states.TokenStates(), encoder, features, layers, job)
        parts = [layer[positions] for layer in states]
    vectors = [np.asarray(part, dtype=np.float32) for part in parts]
    concatenated = choice.startswith("concat")
    mixed = np.concatenate(vectors, axis=1) if concatenated else np.asarray(sum(vectors) / len(vectors))
    if len(layers) == 1:
        source = f"{source}, layer {layers[0]} of {depth}"
    else:
        how = "side by side" if concatenated else "averaged"
        source = f"{source}, layers {layers[0]} to {layers[-1]} of {depth} {how}"
    return Vectors(mixed, sequences, len(features.tokens), source)


def samples(read: Vectors, scaling: Scaling, job: Job) -> Samples:
    """Return the training samples of a table, with scaled inputs."""
    assert job.problem.export_kind is not None
    targets = {**read.sequences.targets, **read.sequences.token_targets}
    if "label" not in targets:
        raise PluginError(
            f"The problem '{job.problem.name}' has no target 'label' in its features, so that the method "
            "'probe' cannot learn it. Choose --method finetune."
        )
    kind = KINDS[job.problem.export_kind.name]
    if job.problem.head.level == "sequence":
        units = np.arange(len(read.vectors))
    else:
        units = np.repeat(np.arange(read.sequences.units), read.sequences.unit_tokens)
    labels = np.asarray(targets["label"])
    return kind.samples(scaling.scaled(read.vectors), labels, units, job.problem.head.width)
