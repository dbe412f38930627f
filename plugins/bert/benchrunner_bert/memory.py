"""Memory of models that are made here: reckoned from their sizes, before any is taken."""

from __future__ import annotations

from benchrunner import RequestError
from benchrunner.engine import platform_facts

TRAINED = 16
"""Bytes of a weight in training: the weight, its gradient and Adam's two moments, in fp32."""


def check_memory(name: str, weights: int, *, bytes_each: int = TRAINED) -> None:
    """Raise a `RequestError` if a model needs more memory than this process can have. `name` begins the message."""
    needed = weights * bytes_each
    memory = platform_facts.memory_size()
    if needed > memory:
        raise RequestError(
            f"{name} has {weights:,} weights, which need {needed / 1e9:,.0f} GB of memory; there are "
            f"{memory / 1e9:,.1f} GB. Choose a smaller size."
        )
