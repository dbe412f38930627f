"""Memory of models that are made here: reckoned from their sizes, before any is taken."""

from __future__ import annotations

from pathlib import Path

from benchrunner import CheckpointError, RequestError
from benchrunner.engine import platform_facts
from benchrunner_checkpoints import tensor_files

TRAINED = 16
"""Bytes of a weight in training: the weight, its gradient and Adam's two moments, in fp32."""


def check_memory(what: str, needed: int, remedy: str = "Choose a smaller size.") -> None:
    """Raise a `RequestError` if so many bytes are more than this process can have.

    `what` begins the message, for example "A model has 9 weights, which need".
    """
    memory = platform_facts.memory_size()
    if needed > memory:
        raise RequestError(f"{what} {needed / 1e9:,.0f} GB of memory; there are {memory / 1e9:,.1f} GB. {remedy}")


def check_files(config: Path, layers: int, weights: int, file: Path) -> None:
    """Raise a `CheckpointError` if a file of weights is too small for what a configuration describes.

    Called before a model is made: a number in a small file can ask for any amount of memory. Each
    layer has more than one tensor of its own.
    """
    tensors = len(tensor_files.read_shapes(file))
    if layers > tensors:
        raise CheckpointError(
            f"{config}: num_hidden_layers is {layers:,}, but {file.name} has only {tensors:,} tensors."
        )
    tensor_files.check_size(config, weights, [file])
