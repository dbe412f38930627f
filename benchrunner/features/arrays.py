"""Features: encoded rows as flat arrays without padding, in memory or memory-mapped from a cache folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

IGNORED = -100
"""Target of tokens that have no loss; the default `ignore_index` of torch's cross-entropy."""


@dataclass(frozen=True)
class Sequences:
    """Token sequences, joined in one array."""

    tokens: np.ndarray
    """int32 (tokens,): token ids"""
    segments: np.ndarray
    """int8 (tokens,): segment of each token"""
    starts: np.ndarray
    """int64 (sequences + 1,): sequence i is tokens[starts[i]:starts[i + 1]]"""

    @classmethod
    def joined(cls, parts: list[Sequences]) -> Sequences:
        """Join parts one after another."""
        if len(parts) == 1:
            return parts[0]
        lengths = np.concatenate([np.diff(part.starts) for part in parts])
        tokens = np.concatenate([part.tokens for part in parts])
        segments = np.concatenate([part.segments for part in parts])
        return cls(tokens, segments, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))


@dataclass(frozen=True)
class Features:
    """An encoded data set. Units hold sequences, and sequences hold tokens; each sequence belongs to a row.

    A unit is never split. Training shuffles units. The batch size counts units: a row of classify, the four sequences
    of a row of choose, a window of span. For tag, a unit is a window too, and `batch_counts` says how much it counts.
    """

    tokens: np.ndarray
    """int32 (tokens,): token ids"""
    segments: np.ndarray
    """int8 (tokens,): segment of each token"""
    starts: np.ndarray
    """int64 (sequences + 1,): sequence i is tokens[starts[i]:starts[i + 1]]"""
    groups: np.ndarray
    """int64 (units + 1,): unit u is sequences groups[u] to groups[u + 1]"""
    owner: np.ndarray
    """int64 (sequences,): the row of each sequence"""
    targets: Mapping[str, np.ndarray]
    """By name: one entry per unit. Empty for rows without labels."""
    token_targets: Mapping[str, np.ndarray] = field(default_factory=dict)
    """By name: one entry per token, `IGNORED` for tokens without a target."""
    guides: Mapping[str, np.ndarray] = field(default_factory=dict)
    """By name: arrays of any shape with which the problem's `gather` finds the answers in the outputs."""
    counts: np.ndarray | None = None
    """int64 (units,): how many rows begin in each unit; None is 1 for each"""
    loss_weights: np.ndarray | None = None
    """int64 (units,): how many losses are summed in a unit; None is 1 for each"""

    @classmethod
    def of(
        cls,
        sequences: Sequences,
        *,
        groups: np.ndarray | None = None,
        owner: np.ndarray | None = None,
        targets: Mapping[str, np.ndarray] | None = None,
        token_targets: Mapping[str, np.ndarray] | None = None,
        guides: Mapping[str, np.ndarray] | None = None,
        counts: np.ndarray | None = None,
        loss_weights: np.ndarray | None = None,
    ) -> Features:
        """Build features from sequences. By default every sequence is one unit, and every unit is one row."""
        sequence_count = len(sequences.starts) - 1
        return cls(
            tokens=sequences.tokens,
            segments=sequences.segments,
            starts=sequences.starts,
            groups=np.arange(sequence_count + 1, dtype=np.int64) if groups is None else groups,
            owner=np.arange(sequence_count, dtype=np.int64) if owner is None else owner,
            targets=targets or {},
            token_targets=token_targets or {},
            guides=guides or {},
            counts=counts,
            loss_weights=loss_weights,
        )

    @property
    def units(self) -> int:
        """Number of units."""
        return len(self.groups) - 1

    def batch_counts(self, batch_unit: str) -> np.ndarray:
        """Return how much each unit counts in the batch size, int64 (units,).

        `batch_unit` is the recipe's. For features without counts of rows and of losses, a unit always counts 1.
        """
        counts = {"sentences": self.counts, "words": self.loss_weights}.get(batch_unit)
        return np.ones(self.units, dtype=np.int64) if counts is None else np.asarray(counts)

    def loss_weight(self, units: np.ndarray) -> int:
        """Return the number by which the summed loss of the given units is divided."""
        return len(units) if self.loss_weights is None else int(self.loss_weights[units].sum())

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens in each sequence, int64 (sequences,)."""
        return np.diff(self.starts)

    @property
    def unit_tokens(self) -> np.ndarray:
        """Number of tokens in each unit, int64 (units,)."""
        return np.diff(self.starts[self.groups])

    def tokens_in(self, units: np.ndarray) -> int:
        """Return the number of tokens in some units."""
        return int((self.starts[self.groups[units + 1]] - self.starts[self.groups[units]]).sum())

    def save(self, folder: Path) -> None:
        """Write each array to a file of its own, so that it can be memory-mapped."""
        contents: dict[str, list[str]] = {}
        for group in _GROUPS:
            arrays = getattr(self, group)
            contents[group] = sorted(arrays)
            for name, values in arrays.items():
                np.save(folder / f"{group}-{name}.npy", values)
        contents["optional"] = [name for name in _OPTIONAL if getattr(self, name) is not None]
        for name in (*_PARTS, *contents["optional"]):
            np.save(folder / f"{name}.npy", getattr(self, name))
        (folder / "contents.json").write_text(json.dumps(contents), encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> Features:
        """Memory-map what `save` wrote; raises `OSError` or `ValueError` if files are missing or damaged."""

        def array(name: str) -> np.ndarray:
            try:
                values: np.ndarray = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            except EOFError:
                raise ValueError(f"{folder / name}.npy is empty") from None
            return values

        contents = json.loads((folder / "contents.json").read_text(encoding="utf-8"))
        parts: dict[str, Any] = {name: array(name) for name in (*_PARTS, *contents["optional"])}
        for group in _GROUPS:
            parts[group] = {name: array(f"{group}-{name}") for name in contents[group]}
        return cls(**parts)


_PARTS = ("tokens", "segments", "starts", "groups", "owner")
_GROUPS = ("targets", "token_targets", "guides")
_OPTIONAL = ("counts", "loss_weights")
