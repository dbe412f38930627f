"""Settings of vectors, declared once: options, help and checks follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from benchrunner.results import Declared, parameter


@final
@dataclass(frozen=True)
class VectorSettings(Declared):
    """Which vectors are computed, and how."""

    tokens: bool = parameter(False, "a vector for each token, special tokens included, in place of one for each text")
    layer: int = parameter(-1, "layer that is read: 0 is the embeddings, 1 the lowest layer, -1 the last layer")
    summary: str = parameter(
        "mean",
        "vector of a text: the mean or the maximum of its tokens, the first or the last of them, or the encoder's own "
        "(pooler)",
        choices=("mean", "max", "first", "last", "pooler"),
    )
    max_length: int | None = parameter(
        None, "most tokens of a text, with special tokens; others are cut (default: all that B reads)", int, at_least=3
    )
    precision: str = parameter("fp32", "precision of matrix products", choices=("fp32", "bf16", "auto"))
    device: str = parameter("auto", "cpu, cuda, cuda:1, mps, ...")
