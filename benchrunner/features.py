"""Encoded rows as flat arrays: sequences without padding, in memory or memory-mapped from a cache folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np


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

    @property
    def units(self) -> int:
        return len(self.groups) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each sequence."""
        return np.diff(self.starts)

    @property
    def unit_tokens(self) -> np.ndarray:
        """Tokens of each unit."""
        return np.diff(self.starts[self.groups])

    def save(self, folder: Path) -> None:
        for name in ("tokens", "segments", "starts", "groups", "owner"):
            np.save(folder / f"{name}.npy", getattr(self, name))
        for name, values in self.targets.items():
            np.save(folder / f"target-{name}.npy", values)
        (folder / "targets.json").write_text(json.dumps(sorted(self.targets)), encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> Features:
        """What `save` wrote, memory-mapped; `OSError` or `ValueError` where files are missing or damaged."""

        def array(path: Path) -> np.ndarray:
            try:
                found: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
            except EOFError:
                raise ValueError(f"{path} is empty") from None
            return found

        names = json.loads((folder / "targets.json").read_text(encoding="utf-8"))
        targets = {name: array(folder / f"target-{name}.npy") for name in names}
        parts = ("tokens", "segments", "starts", "groups", "owner")
        return cls(**{name: array(folder / f"{name}.npy") for name in parts}, targets=targets)
