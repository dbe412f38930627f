"""Features: encoded rows as flat arrays without padding, in memory, in a cache folder, or as tensors on a device."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

IGNORED = -100
"""Target of tokens that have no loss; the default `ignore_index` of torch's cross-entropy."""

_ALIGNMENT = 16
"""Bytes to whose multiples the beginning of each array is moved in the buffer: no type of a tensor is larger."""


def borders(counts: np.ndarray) -> np.ndarray:
    """Return 0 and the sums of the first counts, int64 (counts + 1,): borders([2, 3]) is [0, 2, 5]."""
    sums = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=sums[1:])
    return sums


@dataclass(frozen=True)
class Sequences:
    """Token sequences, joined in one array."""

    tokens: np.ndarray
    """int32 (tokens,): token ids"""
    segments: np.ndarray
    """int8 (tokens,): segment of each token"""
    starts: np.ndarray
    """int64 (sequences + 1,): sequence i is tokens[starts[i]:starts[i + 1]]"""

    def summary_tokens(self, place: Literal["first", "last"]) -> np.ndarray:
        """Return the token that stands for each sequence, its first or its last: int64 (sequences,)."""
        if place == "first":
            return self.starts[:-1]
        return self.starts[1:] - 1

    @classmethod
    def joined(cls, parts: Iterable[Sequences]) -> Sequences:
        """Join parts one after another. Parts that an iterator makes are not kept beside the whole."""
        tokens = bytearray()
        segments = bytearray()
        lengths = bytearray()
        for part in parts:
            tokens += part.tokens.astype(np.int32).tobytes()
            segments += part.segments.astype(np.int8).tobytes()
            lengths += np.diff(part.starts).astype(np.int64).tobytes()
        return cls(
            np.frombuffer(tokens, dtype=np.int32),
            np.frombuffer(segments, dtype=np.int8),
            borders(np.frombuffer(lengths, dtype=np.int64)),
        )


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
    """int64 (units,): how many losses are summed in a unit; None is 1 for each. `weighted` gives their weights, fp64"""

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
        """Number of units, which training shuffles and never splits."""
        return len(self.groups) - 1

    def batch_counts(self, batch_unit: str) -> np.ndarray:
        """Return how much each unit counts in the batch size, int64 (units,).

        `batch_unit` is the recipe's. For features without counts of rows and of losses, a unit always counts 1.
        """
        counts = {"sentences": self.counts, "words": self.loss_weights}.get(batch_unit)
        if counts is None:
            return np.ones(self.units, dtype=np.int64)
        return np.asarray(counts)

    def loss_weight(self, units: np.ndarray) -> float:
        """Return the number by which the summed loss of the given units is divided."""
        if self.loss_weights is None:
            return len(units)
        weight: float = self.loss_weights[units].sum().item()
        return weight

    def balanced_weights(self, width: int) -> np.ndarray:
        """Return labelled rows, or words, / (labels * rows of the label) for each label, as scikit-learn: (width,).

        Labels that no row has are not counted, and weigh 0. `width` is the number of labels or more.
        """
        labels = self.targets.get("label", self.token_targets.get("label", np.zeros(0, dtype=np.int64)))
        counts = np.bincount(labels[labels != IGNORED], minlength=width)
        has_rows = counts > 0
        weights = np.zeros(width)
        weights[has_rows] = counts.sum() / (has_rows.sum() * counts[has_rows])
        return weights

    def weighted(self, weights: np.ndarray) -> Features:
        """Copy the features with each loss counted by the weight of its label, (labels,), as torch's mean does."""
        if "label" in self.targets:
            return replace(self, loss_weights=weights[self.targets["label"]])
        labels = self.token_targets["label"]
        of_tokens = np.append(weights, 0.0)[np.where(labels == IGNORED, len(weights), labels)]
        sums = np.concatenate([[0.0], np.cumsum(of_tokens)])
        return replace(self, loss_weights=np.diff(sums[self.starts[self.groups]]))

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens in each sequence: int64 (sequences,)."""
        return np.diff(self.starts)

    @property
    def unit_tokens(self) -> np.ndarray:
        """Number of tokens in each unit, which is what training shuffles and never splits: int64 (units,)."""
        return np.diff(self.starts[self.groups])

    def tokens_in(self, units: np.ndarray) -> int:
        """Return the number of tokens in some units."""
        first = self.starts[self.groups[units]]
        end = self.starts[self.groups[units + 1]]
        return int((end - first).sum())

    def save(self, folder: Path) -> None:
        """Write each array to a file of its own, so that it can be memory-mapped."""
        optional = [name for name in _OPTIONAL if getattr(self, name) is not None]
        for name in (*_PARTS, *optional):
            np.save(folder / f"{name}.npy", getattr(self, name))
        contents = {"optional": optional}
        for group in _GROUPS:
            arrays = getattr(self, group)
            contents[group] = sorted(arrays)
            for name, values in arrays.items():
                np.save(folder / f"{group}-{name}.npy", values)
        written = json.dumps(contents)
        (folder / "contents.json").write_text(written, encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> Features:
        """Memory-map what `save` wrote; raises `OSError` or `ValueError` if files are missing or damaged."""

        def array(name: str) -> Any:
            file = folder / f"{name}.npy"
            try:
                return np.load(file, mmap_mode="r", allow_pickle=False)
            except EOFError:
                raise ValueError(f"{file} is empty") from None

        contents = json.loads((folder / "contents.json").read_text(encoding="utf-8"))
        parts = {name: array(name) for name in (*_PARTS, *contents["optional"])}
        for group in _GROUPS:
            parts[group] = {name: array(f"{group}-{name}") for name in contents[group]}
        return cls(**parts)


_PARTS = ("tokens", "segments", "starts", "groups", "owner")
_GROUPS = ("targets", "token_targets", "guides")
_OPTIONAL = ("counts", "loss_weights")


def on_device(arrays: Mapping[str, np.ndarray], device: torch.device) -> dict[str, Tensor]:
    """Give arrays as tensors on a device. On the CPU the tensors share the memory of the arrays."""
    arrays = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    if device.type != "cpu":
        return copied(arrays, device)
    return {name: torch.from_numpy(values) for name, values in arrays.items()}


def tensor_on(values: np.ndarray, device: torch.device) -> Tensor:
    """Give one array as a tensor on a device."""
    return on_device({"values": values}, device)["values"]


def copied(arrays: Mapping[str, np.ndarray], device: torch.device) -> dict[str, Tensor]:
    """Copy contiguous arrays to a device in one piece; the tensors are views of the piece.

    The host goes on while the copy is under way. The buffer on the host may be freed at once: for each copy from pinned
    memory, torch records an event, and gives the memory out again only after the event. A CUDA graph would read the
    buffer again with each replay: an error is raised while a graph is recorded.
    """
    if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        raise RuntimeError(f"a CUDA graph cannot copy from memory of the host again ({', '.join(arrays)})")
    places = dict[str, slice]()
    size = 0
    for name, values in arrays.items():
        begin = size + -size % _ALIGNMENT
        size = begin + values.nbytes
        places[name] = slice(begin, size)
    buffer = torch.empty(size, dtype=torch.uint8, pin_memory=device.type == "cuda")
    content = buffer.numpy()
    for name, values in arrays.items():
        content[places[name]] = values.reshape(-1).view(np.uint8)
    there = buffer.to(device, non_blocking=True)
    tensors = dict[str, Tensor]()
    for name, values in arrays.items():
        piece = there[places[name]]
        kind = torch.from_numpy(values).dtype
        tensors[name] = piece.view(kind).view(values.shape)
    return tensors
