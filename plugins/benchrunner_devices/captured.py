"""Steps by CUDA graphs that are recorded once.

A CUDA graph launches all kernels of a forward and a backward pass at once, so that a step of short sequences no longer
waits for the host. A graph reads and writes fixed places in memory: batches are copied into static tensors, gradients
are added up in tensors that stay, and random numbers are drawn by generators that are seeded before each replay.

`Captured` computes every batch in a fixed shape, whether by a graph or not, with the same kernels and random numbers.
Which batches are computed by a graph, for example after a resumption, therefore makes no difference. Fits on an H200
used this code, and docs/proofs/speed.md has their speed. Tests have stand-ins for the graph, on the CPU: they cannot
tell whether CUDA records every kernel, and whether a library chooses the same kernels in a recording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
import torch
from torch import Tensor

from benchrunner.engine import Dropout, FlatBatch, collate, gradients, steps
from benchrunner_devices.fixed_shapes import in_fixed_shape, multiple_of
from benchrunner_devices.graphs import CudaGraph, Graph, GraphGenerators

GRAPHS = 64
"""Most graphs that a training records: each graph takes memory for its kernels' parameters and outputs."""
TOLERANCE = 1e-2
"""Largest difference between gradients by a graph and by single operators, as a share of the largest gradient."""


def train_with_graphs(training: steps.Training) -> None:
    """Run a training whose steps are computed in fixed shapes if CUDA graphs are asked for and its device has them."""
    asked = training.computing.cuda_graphs and not training.computing.recompute
    if asked and training.device.type == "cuda":
        pool = torch.cuda.graph_pool_handle()
        training.fixed_shapes = lambda: Captured(training.means, lambda: CudaGraph(pool), training.remark)
    training.run()


@final
@dataclass(frozen=True)
class _Recording:
    """A recorded batch shape: its graph, the generators and tensors that it reads, and the loss that it writes."""

    graph: Graph
    generators: GraphGenerators
    inputs: list[Tensor]
    loss: Tensor


@final
@dataclass
class Captured:
    """Computes batches in fixed shapes, operator by operator or by graphs.

    From the second step on, the first batch of a shape is computed operator by operator, so that everything that it
    needs is loaded. The second batch is computed in this way, too, after a graph was recorded from it. All later
    batches of the shape are computed by the graph. The first graph is compared with its operators when it is used.

    `add` raises a `NotStatic` if the model or the problem cannot read a batch of fixed shape.
    """

    work: gradients.Work
    graph: Callable[[], Graph]
    note: Callable[[str], None] = lambda text: None
    recorded: dict[tuple[int, ...], _Recording] = field(init=False, default_factory=dict)
    """(Tokens with the filling, sequences, units) of a batch -> its graph."""

    def __post_init__(self) -> None:
        self._generators = GraphGenerators()
        self._warm = set[tuple[int, ...]]()
        self._gradients = dict[torch.nn.Parameter, Tensor]()
        self._records = True
        self._compared = False
        self._longest = int(self.work.features.lengths.max())

    def clear(self) -> None:
        """Begin a step: set the gradients of the first step to zero in place, since graphs go on writing to them.

        Weights that the first step does not use have no gradients.
        """
        if not self._gradients:
            self._gradients = {weight: weight.grad for weight in self._weights() if weight.grad is not None}
        self.work.optimizer.clear()
        for weight, gradient in self._gradients.items():
            weight.grad = gradient
        if self._gradients:
            torch._foreach_zero_(list(self._gradients.values()))

    def add(self, units: np.ndarray, dropout: Dropout, divisor: float) -> Tensor:
        features = self.work.features
        multiple = multiple_of(features.tokens_in(units))
        dropout = dropout.drawn_by(self._generators)
        filled = collate(features, units, self.work.device, dropout=dropout, multiple=multiple)
        batch = in_fixed_shape(filled, self._longest)
        share = torch.full((), divisor, device=self.work.device)
        key = (len(batch.tokens), len(batch.restore), len(units))
        if key in self.recorded and not self._compared:
            recording = self.recorded.pop(key)
            self._compared = self._keeps(key, lambda: self._compare(recording, batch, share))
        elif key in self._warm and key not in self.recorded and self._may_record():
            self._keeps(key, lambda: self._record(batch, share))
            return self.work.add(batch, share)
        if key not in self.recorded:
            if self._gradients:  # else the gradients are not yet added to tensors that stay
                self._warm.add(key)
            return self.work.add(batch, share)
        return self._replay(self.recorded[key], batch, share)

    def _weights(self) -> Iterable[torch.nn.Parameter]:
        return self.work.optimizer.named.values()

    def _may_record(self) -> bool:
        """Whether a further graph may be recorded: not before the first graph is known to be right."""
        return self._records and len(self.recorded) < GRAPHS and (self._compared or not self.recorded)

    def _replay(self, recording: _Recording, batch: FlatBatch, share: Tensor) -> Tensor:
        """Compute a batch by the graph of its shape; return the loss in a tensor that later replays do not write."""
        torch._foreach_copy_(recording.inputs, _inputs(batch, share))
        recording.generators.seed(batch.dropout)
        recording.graph.replay()
        return recording.loss.clone()

    def _keeps(self, key: tuple[int, ...], attempt: Callable[[], _Recording]) -> bool:
        """Keep the graph of a shape that is recorded or compared, unless there is an error; return whether it is kept.

        After an error, no more graphs are recorded. Weights that the first step did not use must get no gradient: the
        graph would write it to a tensor that the next step no longer has.
        """
        others = {weight: weight.grad for weight in self._weights() if weight not in self._gradients}
        for weight in others:
            weight.grad = None
        try:
            recording = attempt()
            if any(weight.grad is not None for weight in others):
                raise RuntimeError("some weights have a gradient in this step but had none in the first one")
            self.recorded[key] = recording
            return True
        except RuntimeError as error:
            self._refuse(str(error).partition("\n")[0])
            return False
        finally:
            for weight, gradient in others.items():
                weight.grad = gradient

    def _record(self, batch: FlatBatch, share: Tensor) -> _Recording:
        """Record a graph that reads the tensors of this batch from now on. Nothing is computed."""
        graph = self.graph()
        generators = self._generators.for_a_graph()
        recorded = replace(batch, dropout=batch.dropout.drawn_by(generators))
        loss = graph.record(lambda: self.work.add(recorded, share), generators)
        return _Recording(graph, generators, _inputs(batch, share), loss)

    def _compare(self, recording: _Recording, batch: FlatBatch, share: Tensor) -> _Recording:
        """Return a recording that computes the gradients of its operators one by one, up to `TOLERANCE`, else raise.

        The batch is not the one from which the graph was recorded: a graph that keeps a value of that batch is found.
        The gradients that the weights had before are restored.
        """
        totals = list(self._gradients.values())
        before = [gradient.clone() for gradient in totals]
        again = replace(batch, dropout=batch.dropout.drawn_by(self._generators))
        try:
            torch._foreach_zero_(totals)
            self.work.add(again, share)
            expected = [gradient.clone() for gradient in totals]
            torch._foreach_zero_(totals)
            self._replay(recording, batch, share)
            differences = [(right - gradient).abs().max() for right, gradient in zip(expected, totals, strict=True)]
        finally:
            torch._foreach_copy_(totals, before)
        largest = torch.stack([gradient.abs().max() for gradient in expected]).max()
        apart = torch.stack(differences).max()
        if not apart <= TOLERANCE * largest:
            raise RuntimeError("the first graph computed other gradients than its operators one by one")
        return recording

    def _refuse(self, reason: str) -> None:
        self._records = False
        if self.recorded:
            self.note(f"no further CUDA graphs: {reason}; batches of other shapes are computed operator by operator")
        else:
            self.note(f"no CUDA graphs: {reason}; steps are computed operator by operator")


def _inputs(batch: FlatBatch, share: Tensor) -> list[Tensor]:
    """List the tensors of a batch of fixed shape that a graph reads, always in the same order."""
    assert batch.static is not None
    return [
        batch.tokens,
        batch.segments,
        batch.positions,
        batch.starts,
        batch.restore,
        batch.static.starts,
        *batch.targets.values(),
        share,
    ]
