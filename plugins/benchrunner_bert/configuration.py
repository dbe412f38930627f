"""Configuration of a BERT: the numbers that make one BERT different from another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from benchrunner import CheckpointError, RequestError, read_json_object

if TYPE_CHECKING:
    import numpy as np

SIZES: Mapping[str, tuple[int, int]] = {
    "tiny": (2, 128),
    "mini": (4, 256),
    "small": (4, 512),
    "medium": (8, 512),
    "base": (12, 768),
    "large": (24, 1024),
}
"""Layers and hidden size of the released models whose size has a name."""

HEAD_SIZE = 64
"""Hidden size per attention head, in every released model."""

_BACKWARD = 2
"""Products of the backward pass for each product of the forward pass: gradients of its input and of its weight."""

_PUBLISHED_KEYS = {
    "vocabulary": "vocab_size",
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "inner": "intermediate_size",
    "activation": "hidden_act",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "positions": "max_position_embeddings",
    "segments": "type_vocab_size",
    "epsilon": "layer_norm_eps",
    "deviation": "initializer_range",
}
"""Fields of `Configuration` -> keys of a checkpoint's config.json."""


Direction = Literal["both", "left-to-right"]
"""Which tokens attention sees: the whole sequence, as in BERT, or only the tokens before."""

LOOKS: Mapping[Direction, str] = {"both": "both ways", "left-to-right": "left only"}
"""Direction -> where attention looks, for messages."""

_DIRECTION_KEY = "attention_direction"
"""Key that benchrunner adds to config.json; a checkpoint without it has attention in both directions."""

MODEL_TYPE = "bert"
"""Value of `model_type` in config.json."""


@dataclass(frozen=True)
class Configuration:
    """Everything about a BERT except its weights and its vocabulary. The defaults are those of BERT-BASE."""

    vocabulary: int = 30522
    """Number of tokens in the vocabulary."""
    hidden: int = 768
    """Hidden size: the width of every token's state."""
    layers: int = 12
    heads: int = 12
    inner: int = 3072
    """Width of the feed-forward layer: 4 x hidden in every released model."""
    activation: str = "gelu"
    dropout: float = 0.1
    attention_dropout: float = 0.1
    positions: int = 512
    """Longest sequence, in tokens."""
    segments: int = 2
    epsilon: float = 1e-12
    """Added to the variance in LayerNorm."""
    deviation: float = 0.02
    """Standard deviation of fresh weights."""
    direction: Direction = "both"

    @classmethod
    def of_size(cls, size: str, vocabulary: int) -> Configuration:
        """Build the configuration of a size: `tiny` ... `large`, `L/H` with heads of 64, or `L/H/A`."""
        if size in SIZES:
            layers, hidden = SIZES[size]
            return cls.of_size(f"{layers}/{hidden}", vocabulary)
        parts = size.split("/")
        if len(parts) not in (2, 3) or not all(part.isdecimal() and int(part) > 0 for part in parts):
            raise RequestError(f"A size is {', '.join(SIZES)}, L/H or L/H/A such as 4/256/4; not '{size}'.")
        layers = int(parts[0])
        hidden = int(parts[1])
        heads = int(parts[2]) if len(parts) == 3 else max(1, hidden // HEAD_SIZE)
        if hidden % heads:
            raise RequestError(f"A width of {hidden} cannot be shared by {heads} heads: in L/H/A, A must divide H.")
        return cls(vocabulary=vocabulary, hidden=hidden, layers=layers, heads=heads, inner=4 * hidden)

    @classmethod
    def read(cls, path: Path) -> Configuration:
        """Read and check the config.json of a checkpoint."""
        settings = read_json_object(path, error=CheckpointError)
        direction = settings.get(_DIRECTION_KEY, "both")
        directions = get_args(Direction)
        if direction not in directions:
            raise CheckpointError(f"{path}: {_DIRECTION_KEY} is {direction!r}; {' or '.join(directions)} was expected.")
        published: dict[str, object] = {"model_type": MODEL_TYPE, "position_embedding_type": "absolute"}
        if direction == "both":
            published["is_decoder"] = False
        for key, expected in published.items():
            if settings.get(key, expected) != expected:
                raise CheckpointError(f"{path}: {key} is {settings[key]!r}; only {expected!r} is BERT as published.")
        required = [_PUBLISHED_KEYS[name] for name in ("hidden", "layers", "heads")]
        if missing := [key for key in required if key not in settings]:
            raise CheckpointError(f"{path}: {', '.join(missing)} missing: is this a BERT?")
        values = {name: settings[key] for name, key in _PUBLISHED_KEYS.items() if key in settings}
        if isinstance(values["hidden"], int):
            values.setdefault("inner", 4 * values["hidden"])
        config = cls(**values, direction=direction)
        if fault := config._fault():
            raise CheckpointError(f"{path}: {fault}.")
        return config

    @property
    def pooler_weights(self) -> int:
        """Number of weights of the pooler."""
        return self.hidden * (self.hidden + 1)

    @property
    def layer_matrices(self) -> int:
        """Number of weights in the matrices of a layer."""
        return 4 * self.hidden**2 + 2 * self.hidden * self.inner

    def step_flops(self, lengths: np.ndarray, predictions: float, *, next_sentence: bool) -> float:
        """Count the operations of the matrix products of a step, forward and backward, over sequences without padding.

        The count is what the model needs, not what a kernel computes: where attention looks left only, the
        other half does not count, and a layer that is computed twice to save memory counts once.
        """
        linear = 2 * int(lengths.sum()) * self.layer_matrices
        attention = 2 * 2 * self.hidden * self._pairs(lengths)  # queries by keys, then probabilities by values
        heads = 2 * predictions * (self.hidden**2 + self.hidden * self.vocabulary)
        if next_sentence:
            heads += 2 * len(lengths) * (self.hidden**2 + 2 * self.hidden)
        return (1 + _BACKWARD) * (self.layers * (linear + attention) + heads)

    def _pairs(self, lengths: np.ndarray) -> int:
        """Count the pairs (query, key) over which attention computes, in sequences of these lengths.

        In a sequence of n tokens they are n * n pairs, or n * (n + 1) / 2 where attention looks left only.
        """
        lengths = lengths.astype("int64")
        pairs = lengths**2 if self.direction == "both" else lengths * (lengths + 1) // 2
        return int(pairs.sum())

    @property
    def weights(self) -> int:
        """Number of all weights, computed from the sizes without making a model."""
        embeddings = (self.vocabulary + self.positions + self.segments + 2) * self.hidden
        vectors = 9 * self.hidden + self.inner  # biases of the matrices, and two norms
        return embeddings + self.layers * (self.layer_matrices + vectors) + self.pooler_weights

    def _fault(self) -> str | None:
        """Describe the first number that no BERT can have; None where all are possible."""
        for name in ("vocabulary", "hidden", "layers", "heads", "inner", "positions", "segments"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                return f"{_PUBLISHED_KEYS[name]} must be a whole number above zero, not {value!r}"
        for name in ("dropout", "attention_dropout", "epsilon", "deviation"):
            value = getattr(self, name)
            if type(value) not in (int, float) or not 0 <= value < 1:
                return f"{_PUBLISHED_KEYS[name]} must be a number from 0 to below 1, not {value!r}"
        if self.hidden % self.heads:
            return f"a hidden_size of {self.hidden} cannot be shared by {self.heads} attention heads"
        return None

    def as_json(self) -> dict[str, Any]:
        """Give the content of config.json, with the keys that other libraries read.

        `is_decoder` is the key by which transformers knows that attention looks left only.
        """
        values = {key: getattr(self, name) for name, key in _PUBLISHED_KEYS.items()}
        content = {"model_type": MODEL_TYPE, "pad_token_id": 0, **values, "architectures": ["BertModel"]}
        if self.direction == "left-to-right":
            content |= {_DIRECTION_KEY: self.direction, "is_decoder": True}
        return content
