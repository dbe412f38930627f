"""Encoded rows as flat arrays: sequences without padding, in memory or memory-mapped from a cache folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

IGNORED = -100
"""The target of a token that no loss looks at; torch's own cross-entropy knows it."""


@dataclass(frozen=True)
class Sequences:
    """Token sequences one after another."""

    tokens: np.ndarray
    """int32 (tokens,)"""
    segments: np.ndarray
    """int8 (tokens,)"""
    starts: np.ndarray
    """int64 (sequences + 1,): sequence i is tokens[starts[i]:starts[i + 1]]"""


@dataclass(frozen=True)
class Features:
    """A data set as the engine reads it. Three levels: units hold sequences, sequences hold tokens; rows own sequences.

    A unit is what is shuffled and counted by the batch size and never split: a row of classify, a row's four
    sequences in choose, a window in span and tag.
    """

    tokens: np.ndarray
    """int32 (tokens,)"""
    segments: np.ndarray
    """int8 (tokens,)"""
    starts: np.ndarray
    """int64 (sequences + 1,)"""
    groups: np.ndarray
    """int64 (units + 1,): unit u is sequences groups[u] to groups[u + 1]"""
    owner: np.ndarray
    """int64 (sequences,): the row that each sequence came from"""
    targets: Mapping[str, np.ndarray]
    """By name, one entry a unit; empty where the rows have no labels."""
    token_targets: Mapping[str, np.ndarray] = field(default_factory=dict)
    """By name, one entry a token; `IGNORED` where a token has none."""
    guides: Mapping[str, np.ndarray] = field(default_factory=dict)
    """What turns outputs back into answers: the problem's own affair, shapes included."""
    counts: np.ndarray | None = None
    """int64 (units,): how much of the recipe's batch each takes; None is 1 each"""
    loss_weights: np.ndarray | None = None
    """int64 (units,): what each one's loss is a sum over; None is 1 each"""

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
        return len(self.groups) - 1

    @property
    def batch_counts(self) -> np.ndarray:
        return np.ones(self.units, dtype=np.int64) if self.counts is None else self.counts

    def loss_weight(self, units: np.ndarray) -> int:
        """What the summed loss of these units is divided by."""
        return len(units) if self.loss_weights is None else int(self.loss_weights[units].sum())

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each sequence."""
        return np.diff(self.starts)

    @property
    def unit_tokens(self) -> np.ndarray:
        """Tokens of each unit."""
        return np.diff(self.starts[self.groups])

    def save(self, folder: Path) -> None:
        """One array a file, so that each can be memory-mapped."""
        for name in _PARTS:
            np.save(folder / f"{name}.npy", getattr(self, name))
        contents: dict[str, list[str]] = {}
        for group in _GROUPS:
            arrays = getattr(self, group)
            contents[group] = sorted(arrays)
            for name, values in arrays.items():
                np.save(folder / f"{group}-{name}.npy", values)
        contents["optional"] = [name for name in _OPTIONAL if getattr(self, name) is not None]
        for name in contents["optional"]:
            np.save(folder / f"{name}.npy", getattr(self, name))
        (folder / "contents.json").write_text(json.dumps(contents), encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> Features:
        """What `save` wrote, memory-mapped; `OSError` or `ValueError` where files are missing or damaged."""

        def array(name: str) -> np.ndarray:
            try:
                found: np.ndarray = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            except EOFError:
                raise ValueError(f"{folder / name}.npy is empty") from None
            return found

        contents = json.loads((folder / "contents.json").read_text(encoding="utf-8"))
        parts: dict[str, Any] = {name: array(name) for name in (*_PARTS, *contents["optional"])}
        parts |= {group: {name: array(f"{group}-{name}") for name in contents[group]} for group in _GROUPS}
        return cls(**parts)


_PARTS = ("tokens", "segments", "starts", "groups", "owner")
_GROUPS = ("targets", "token_targets", "guides")
_OPTIONAL = ("counts", "loss_weights")
