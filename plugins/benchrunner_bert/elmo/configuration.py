"""Configuration of an ELMo: the numbers that make one ELMo different from another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner import CheckpointError, RequestError, read_json_object
from benchrunner_bert.configuration import BACKWARD

if TYPE_CHECKING:
    import numpy as np

MODEL_TYPE = "elmo"
"""Value of `model_type` in config.json."""

SIZES: Mapping[str, str] = {"small": "2/128/1024", "medium": "2/256/2048", "base": "2/512/4096"}
"""Named sizes as L/H/C: the released small, medium and original model (Peters et al. 2018; allennlp.org/elmo)."""

_KEYS = {
    "vocabulary": "vocab_size",
    "width": "direction_size",
    "layers": "num_hidden_layers",
    "cells": "cell_size",
    "dropout": "hidden_dropout_prob",
}
"""Fields of `ElmoConfiguration` -> keys of config.json."""


@dataclass(frozen=True)
class ElmoConfiguration:
    """Everything about an ELMo except its weights and its vocabulary. The defaults are those of the published model."""

    vocabulary: int = 30522
    """Number of tokens in the vocabulary."""
    width: int = 512
    """Width of a token's state in one direction; the states of both directions together have twice the width."""
    layers: int = 2
    cells: int = 4096
    """Number of memory cells of a layer; more cells than `width` are projected to `width`."""
    dropout: float = 0.1
    """Dropout of the input of each layer and of the output layer."""

    @classmethod
    def of_size(cls, size: str, vocabulary: int) -> ElmoConfiguration:
        """Build the configuration of a size: `small`, `medium`, `base`, `L/H`, or `L/H/C` with projected cells."""
        parts = SIZES.get(size, size).split("/")
        if len(parts) not in (2, 3) or not all(part.isdecimal() and int(part) > 0 for part in parts):
            raise RequestError(
                f"An ELMo's size is {', '.join(SIZES)}, L/H or L/H/C such as 2/128 or 2/128/1024 (layers, width of one "
                f"direction, cells); not '{size}'."
            )
        layers, width, cells = (*map(int, parts), int(parts[1]))[:3]
        if cells < width:
            raise RequestError(f"{cells} cells cannot be projected to a width of {width}: in L/H/C, C is at least H.")
        return cls(vocabulary=vocabulary, width=width, layers=layers, cells=cells)

    @classmethod
    def read(cls, path: Path) -> ElmoConfiguration:
        """Read and check the config.json of a checkpoint."""
        settings = read_json_object(path, error=CheckpointError)
        if settings.get("model_type") != MODEL_TYPE:
            raise CheckpointError(f"{path}: model_type is {settings.get('model_type')!r}; '{MODEL_TYPE}' was expected.")
        if missing := [key for key in _KEYS.values() if key not in settings]:
            raise CheckpointError(f"{path}: {', '.join(missing)} missing: is this an ELMo of benchrunner?")
        config = cls(**{name: settings[key] for name, key in _KEYS.items()})
        if fault := config._fault():
            raise CheckpointError(f"{path}: {fault}.")
        return config

    @property
    def layer_matrices(self) -> int:
        """Number of weights in the matrices of a layer of one network."""
        projection = self.cells * self.width if self.cells > self.width else 0
        return 8 * self.cells * self.width + projection  # four gates read the input and the state

    def step_flops(self, lengths: np.ndarray, predictions: float, *, next_sentence: bool = False) -> float:
        """Count the operations of the matrix products of a step of both networks, forward and backward."""
        layers = 2 * 2 * int(lengths.sum()) * self.layers * self.layer_matrices
        return (1 + BACKWARD) * (layers + 2 * predictions * self.width * self.vocabulary)

    @property
    def weights(self) -> int:
        """Number of all weights, reckoned without making a model."""
        return 2 * (self.vocabulary * self.width + self.layers * (self.layer_matrices + 8 * self.cells))

    def _fault(self) -> str | None:
        """Describe the first number that no ELMo can have; None where all are possible."""
        for name in ("vocabulary", "width", "layers", "cells"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                return f"{_KEYS[name]} must be a whole number above zero, not {value!r}"
        if type(self.dropout) not in (int, float) or not 0 <= self.dropout < 1:
            return f"{_KEYS['dropout']} must be a number from 0 to below 1, not {self.dropout!r}"
        if self.cells < self.width:
            return f"a cell_size of {self.cells} cannot be projected to a direction_size of {self.width}"
        return None

    def as_json(self) -> dict[str, Any]:
        """Give the content of config.json."""
        return {"model_type": MODEL_TYPE, **{key: getattr(self, name) for name, key in _KEYS.items()}}
