"""The numbers that make one BERT different from another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from benchrunner import CheckpointError, RequestError, read_json_object

SIZES: Mapping[str, tuple[int, int]] = {
    "tiny": (2, 128),
    "mini": (4, 256),
    "small": (4, 512),
    "medium": (8, 512),
    "base": (12, 768),
    "large": (24, 1024),
}
"""Layers and width of the released sizes that have names."""

HEAD_SIZE = 64
"""Of every released model: the number of heads is the width over this."""

_NAMES = {
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
"""Our names -> those of a checkpoint's config.json."""


Direction = Literal["both", "left-to-right"]
"""Where attention looks: at its whole sequence, as BERT's does, or at what came before."""

_DIRECTION = "attention_direction"
"""In config.json, a key of ours; a checkpoint without it looks both ways."""


@dataclass(frozen=True)
class Configuration:
    """Everything about a BERT but its weights and its vocabulary. The defaults are BASE's."""

    vocabulary: int = 30522
    hidden: int = 768
    layers: int = 12
    heads: int = 12
    inner: int = 3072
    """Width of the feed-forward layer: 4 x hidden in every released model."""
    activation: str = "gelu"
    dropout: float = 0.1
    attention_dropout: float = 0.1
    positions: int = 512
    segments: int = 2
    epsilon: float = 1e-12
    deviation: float = 0.02
    # Not in the text that the revisions of fresh models hash: those look both ways, and keep their revisions.
    direction: Direction = field(default="both", repr=False)

    @property
    def left_only(self) -> bool:
        """Whether a token sees only itself and what came before it."""
        return self.direction == "left-to-right"

    @classmethod
    def of_size(cls, size: str, vocabulary: int) -> Configuration:
        """`tiny` ... `large`, `L/H` with heads of 64, or `L/H/A`."""
        if size in SIZES:
            layers, hidden = SIZES[size]
            return cls.of_size(f"{layers}/{hidden}", vocabulary)
        parts = size.split("/")
        if len(parts) not in (2, 3) or not all(part.isdecimal() and int(part) > 0 for part in parts):
            raise RequestError(f"A BERT's size is {', '.join(SIZES)}, L/H or L/H/A such as 4/256/4; not '{size}'.")
        layers, hidden = int(parts[0]), int(parts[1])
        heads = int(parts[2]) if len(parts) == 3 else max(1, hidden // HEAD_SIZE)
        if hidden % heads:
            raise RequestError(f"A width of {hidden} cannot be shared by {heads} heads: in L/H/A, A must divide H.")
        return cls(vocabulary=vocabulary, hidden=hidden, layers=layers, heads=heads, inner=4 * hidden)

    @classmethod
    def read(cls, path: Path) -> Configuration:
        """From a checkpoint's config.json."""
        found = read_json_object(path, error=CheckpointError)
        direction, known = found.get(_DIRECTION, "both"), get_args(Direction)
        if direction not in known:
            raise CheckpointError(f"{path}: {_DIRECTION} is {direction!r}; {' or '.join(known)} was expected.")
        published = {"position_embedding_type": "absolute", **({"is_decoder": False} if direction == "both" else {})}
        for name, wanted in published.items():
            if found.get(name, wanted) != wanted:
                raise CheckpointError(f"{path}: {name} is {found[name]!r}; only {wanted!r} is BERT as published.")
        missing = [
            theirs for ours, theirs in _NAMES.items() if ours in ("hidden", "layers", "heads") and theirs not in found
        ]
        if missing:
            raise CheckpointError(f"{path}: {', '.join(missing)} missing: is this a BERT?")
        values = {ours: found[theirs] for ours, theirs in _NAMES.items() if theirs in found}
        if isinstance(values["hidden"], int):
            values.setdefault("inner", 4 * values["hidden"])
        config = cls(**values, direction=direction)
        if fault := config._fault():
            raise CheckpointError(f"{path}: {fault}.")
        return config

    def _fault(self) -> str | None:
        """What keeps the numbers of somebody's file from being a BERT's."""
        for name in ("vocabulary", "hidden", "layers", "heads", "inner", "positions", "segments"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                return f"{_NAMES[name]} must be a whole number above zero, not {value!r}"
        for name in ("dropout", "attention_dropout", "epsilon", "deviation"):
            value = getattr(self, name)
            if type(value) not in (int, float) or not 0 <= value < 1:
                return f"{_NAMES[name]} must be a number from 0 to below 1, not {value!r}"
        if self.hidden % self.heads:
            return f"a hidden_size of {self.hidden} cannot be shared by {self.heads} attention heads"
        return None

    def as_json(self) -> dict[str, Any]:
        """What config.json holds, so that other libraries read it too.

        `is_decoder` is how transformers says that attention looks left only; it knows no other key for it.
        """
        values = {theirs: getattr(self, ours) for ours, theirs in _NAMES.items()}
        restriction = {_DIRECTION: self.direction, "is_decoder": True} if self.left_only else {}
        return {"model_type": "bert", "architectures": ["BertModel"], "pad_token_id": 0, **values, **restriction}
