"""The flat batch: the sequences of a batch one after another, without padding. There is no other kind of batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, final

import numpy as np
import torch
from numpy.typing import DTypeLike
from torch import Tensor, nn
from torch.nn import functional

from benchrunner.features.arrays import IGNORED, Features, borders, on_device
from benchrunner.features.blocks import Block, blocks_of, lengths_of, ranges
from benchrunner.features.kernels import Kernels
from benchrunner.features.randomness import Dropout, NoDropout

FILLING = 0
"""The id of the filling tokens at the end of a batch: see `collate`."""
Computed = TypeVar("Computed")


@final
@dataclass(frozen=True)
class StaticBorders:
    """Borders of the sequences in a batch of fixed shape."""

    starts: Tensor
    """int32: sequence i is tokens starts[i] to starts[i + 1]; the last sequences are filling."""
    longest: int
    """Most tokens of a sequence in any batch of the shape."""


@dataclass(frozen=True)
class FlatBatch:
    """A batch of whole units. Sequences are in the order of their lengths, so that equal lengths form blocks."""

    tokens: Tensor
    """int64 (T,): token ids; tokens at the end may be filling, which belongs to no sequence: see `collate`"""
    segments: Tensor
    """int64 (T,): segment of each token: 0, or 1 in the second text of a pair"""
    positions: Tensor
    """int64 (T,): position of each token in its sequence, from 0"""
    starts: Tensor
    """int32 (N + 1,): sequence i is tokens starts[i] to starts[i + 1]"""
    blocks: Sequence[Block]
    """The same sequences, as blocks of equal length."""
    restore: Tensor
    """int64 (N,): index in this batch of each sequence, in the order of the units"""
    targets: Mapping[str, Tensor]
    """By name: one entry per unit, in the order of the units, or one per token, in the order of this batch."""
    feature_positions: np.ndarray
    """int64 (T,): index of each token in the features, on the CPU; 0 for filling. Empty in a batch of fixed shape."""
    dropout: Dropout = field(default_factory=NoDropout)
    """The dropout of this forward pass; drops nothing outside of training."""
    static: StaticBorders | None = None
    """Borders of the sequences of a batch of fixed shape, whose `blocks` cannot be read; None in other batches."""
    label_smoothing: float = 0.0
    """The recipe's, for `cross_entropy`; 0 outside of training."""
    label_weights: Tensor | None = None
    """fp32 (labels or more,): what each label counts in `cross_entropy`; None is 1 for each."""
    kernels: Kernels | None = None
    """What computes some operators on a CPU in place of torch; None: torch computes all."""
    _computed: dict[Callable[[FlatBatch], Any], Any] = field(default_factory=dict, init=False, repr=False)

    def cross_entropy(self, scores: Tensor, labels: Tensor) -> Tensor:
        """Sum the cross-entropy of scores (n, labels) over the numbers of the right labels (n,), without `IGNORED`.

        In training, labels are smoothed and weighted as the recipe says.
        """
        weights = None if self.label_weights is None else self.label_weights[: scores.shape[-1]]
        return functional.cross_entropy(
            scores.float(),
            labels,
            weights,
            ignore_index=IGNORED,
            reduction="sum",
            label_smoothing=self.label_smoothing,
        )

    def add_and_norm(self, x: Tensor, residual: Tensor, norm: nn.LayerNorm, rate: float, site: str) -> Tensor:
        """Compute norm(residual + dropout(x)), (rows, width); `site` names the place for drawing the dropout mask."""
        if self.kernels is not None:
            states = self.kernels.add_and_norm(x, residual, norm, *self.drawn(rate, site))
            if states is not None:
                return states
        normed: Tensor = norm(residual + self.dropout(x, rate, site))
        return normed

    def gelu(self, x: Tensor) -> Tensor:
        """Compute GELU with the exact distribution function."""
        computed = None if self.kernels is None else self.kernels.gelu(x)
        return functional.gelu(x) if computed is None else computed

    def drawn(self, rate: float, site: str) -> tuple[float, int]:
        """Return the rate and the seed by which kernels draw the mask of a site; 0 and 0 if nothing is dropped."""
        return (rate, self.dropout.seed(site)) if self.dropping and rate > 0 else (0.0, 0)

    @property
    def dropping(self) -> bool:
        """Whether this forward pass applies dropout."""
        return not isinstance(self.dropout, NoDropout)

    @property
    def real(self) -> int:
        """Number of tokens without the filling."""
        return self.blocks[-1].stop

    @property
    def lengths(self) -> np.ndarray:
        """int64 (N,): tokens of each sequence, on the CPU."""
        return lengths_of(self.blocks)

    @property
    def owner(self) -> Tensor:
        """int64 (real,): the sequence of each token, as its index in this batch."""
        lengths = self.starts.diff().long()
        sequences = torch.arange(len(lengths), device=lengths.device)
        # With the size of the result, torch need not wait for the lengths.
        return torch.repeat_interleave(sequences, lengths, output_size=self.real)

    def once(self, compute: Callable[[FlatBatch], Computed]) -> Computed:
        """Compute something of this batch, or return what an earlier layer computed with the same function."""
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        computed: Computed = self._computed[compute]
        return computed

    def padded(self, values: Tensor, filling: float) -> Tensor:
        """Turn values per token into a padded batch: (T, ...) -> (N, longest, ...), in a few operators.

        The longest is that of `longest_border`, so that a batch of fixed shape has a result of fixed shape.
        """
        first = self.starts[:-1, None]
        end = self.starts[1:, None]
        places = first + torch.arange(self.longest_border, dtype=torch.int32, device=first.device)  # (N, longest)
        outside = places >= end
        inside_batch = places.clamp(max=len(values) - 1)
        rows = values.index_select(0, inside_batch.flatten())
        rows = rows.view(*places.shape, *values.shape[1:])
        further = [1] * (values.dim() - 1)
        return rows.masked_fill(outside.view(*places.shape, *further), filling)

    @cached_property
    def borders(self) -> Tensor:
        """int32: `starts`, with the filling as one more sequence if there is any."""
        if self.static is not None:
            return self.static.starts
        if self.real == len(self.tokens):
            return self.starts
        return torch.nn.functional.pad(self.starts, (0, 1), value=len(self.tokens))

    @property
    def longest_border(self) -> int:
        """Number of tokens of the longest sequence that `borders` delimit, where the padding counts as a sequence."""
        if self.static is not None:
            return self.static.longest
        return max(self.longest, len(self.tokens) - self.real)

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return max(block.length for block in self.blocks)


def collate(
    features: Features,
    units: np.ndarray,
    device: torch.device,
    *,
    dropout: Dropout | None = None,
    multiple: int = 1,
    kernels: Kernels | None = None,
) -> FlatBatch:
    """Build the batch of the given units.

    Filling tokens make the number of tokens a multiple of `multiple`. Layers compute states of the filling; nothing
    reads these states.
    """
    sequences, restore = _shortest_first(features, units)
    lengths = _lengths(features, sequences)
    places = ranges(features.starts[sequences], lengths)
    starts = borders(lengths).astype(np.int32)
    size = len(places) + -len(places) % multiple

    def filled(
        values: np.ndarray,
        filling: int,
        kind: DTypeLike = np.int64,
    ) -> np.ndarray:
        result = np.full(size, filling, dtype=kind)
        result[: len(values)] = values
        return result

    arrays = {
        "tokens": filled(features.tokens[places], FILLING),
        "segments": filled(features.segments[places], 0),
        "positions": filled(ranges(np.zeros(len(lengths), dtype=np.int64), lengths), 0),
        "starts": starts,
        "restore": restore,
    }
    targets = {name: values[units] for name, values in features.targets.items()}
    for name, values in features.token_targets.items():
        targets[name] = filled(values[places], IGNORED, values.dtype)
    uploaded = arrays | {f"target {name}": values for name, values in targets.items()}
    tensors = on_device(uploaded, device)
    return FlatBatch(
        tokens=tensors["tokens"],
        segments=tensors["segments"],
        positions=tensors["positions"],
        starts=tensors["starts"],
        restore=tensors["restore"],
        blocks=tuple(blocks_of(lengths)),
        targets={name: tensors[f"target {name}"] for name in targets},
        feature_positions=filled(places, 0),
        dropout=dropout or NoDropout(),
        kernels=kernels if device.type == "cpu" else None,
    )


def _shortest_first(features: Features, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sequences of the units in the order of their lengths, and the place there of each sequence."""
    counts = np.diff(features.groups)[units]
    sequences = ranges(features.groups[units], counts)
    order = np.argsort(_lengths(features, sequences), kind="stable")
    restore = np.empty_like(order)
    restore[order] = np.arange(len(order))
    return sequences[order], restore


def _lengths(features: Features, sequences: np.ndarray) -> np.ndarray:
    """Return the tokens of some sequences; `Features.lengths` would count those of all."""
    lengths: np.ndarray = features.starts[sequences + 1] - features.starts[sequences]
    return lengths


def rounding(precision: str, tokens: int) -> int:
    """Return the number to whose next multiple a batch of so many tokens is padded.

    Matrix products in half precision are compiled for each new shape (oneDNN on the CPU) or are fast for round shapes
    only (CUDA), and without padding every flat batch has a new shape. Padding is at most a thirty-second of the tokens,
    or 15 tokens of a small batch.
    """
    if precision != "bf16":
        return 1
    share = 1 << max(0, tokens.bit_length() - 6)  # a power of two
    return min(max(16, share), 64)


def micro_batches(
    units: np.ndarray,
    tokens: np.ndarray,
    budget: int,
) -> list[np.ndarray]:
    """Split units into parts of at most `budget` tokens; a unit with more tokens is a part by itself.

    `tokens` holds the number of tokens of every unit of the features.
    """
    if tokens[units].sum() <= budget:
        return [units]
    shortest_first = units[np.argsort(tokens[units], kind="stable")]
    begins = []  # the first unit of each part but the first
    used = 0
    for place, size in enumerate(tokens[shortest_first].tolist()):
        if place > 0 and used + size > budget:
            begins.append(place)
            used = 0
        used += size
    return np.split(shortest_first, begins)
