"""What a probe reads: a vector of the frozen encoder for each sequence, or for each word of tasks that label words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import torch

from benchrunner import PluginError
from benchrunner.engine import Features, steps
from benchrunner_methods import frozen_states
from benchrunner_methods.probing.kinds import KINDS, Samples

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner.engine import Encoder, Job
    from benchrunner_methods.probing.linear import Scaling


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


def read(encoder: Encoder, job: Job, table: pa.Table) -> Vectors:
    """Compute the vectors of a table, or read them from the cache.

    The vectors of the layers that the recipe names are concatenated, or averaged if `features` is a weighted sum: a
    probe does not train the weights of layers.
    """
    features = steps.encode(job, table, encoder, training=False)
    device, shape = torch.device(job.computing.device), job.problem.head
    encoder.to(device).eval()
    choice = job.fit.recipe.features
    layers = frozen_states.chosen_layers(choice, frozen_states.depth(encoder, features, device))
    if shape.level == "sequence":
        sequences, summary = features, job.fit.recipe.summary if shape.reads_summary else "first"
        parts = frozen_states.summaries(encoder, features, layers, job, summary)
    else:
        positions, sequences = job.problem.recurrent_sequences(features, table)
        parts = [states[positions] for states in frozen_states.states(encoder, features, layers, job)]
    vectors = [np.asarray(part, dtype=np.float32) for part in parts]
    mixed = np.concatenate(vectors, axis=1) if choice.startswith("concat") else _mean(vectors)
    return Vectors(mixed, sequences, len(features.tokens))


def _mean(layers: list[np.ndarray]) -> np.ndarray:
    """Return the mean of the layers' vectors; a single layer is not copied."""
    return layers[0] if len(layers) == 1 else np.asarray(np.mean(layers, axis=0))


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
    units = np.repeat(np.arange(read.sequences.units), read.sequences.unit_tokens)
    if job.problem.head.level == "sequence":
        units = np.arange(len(read.vectors))
    return kind.samples(scaling.scaled(read.vectors), np.asarray(targets["label"]), units, job.problem.head.width)
