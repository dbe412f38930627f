"""How the gradients of a step are computed: operator by operator, or by CUDA graphs that are recorded once.

A CUDA graph launches all kernels of a forward and a backward pass at once, so that a step of short sequences no longer
waits for the host. A graph reads and writes fixed places in memory: batches are copied into static tensors, gradients
are added up in tensors that stay, and random numbers are drawn by generators that are seeded before each replay.

`Captured` computes every batch in a fixed shape, whether by a graph or not, with the same kernels and random numbers.
Which batches are computed by a graph, for example after a resumption, therefore makes no difference. Fits on an H200
used this code, and docs/proofs/speed.md has their speed. Tests have stand-ins for the graph, on the CPU: they cannot
tell whether CUDA records every kernel, and whether a library chooses the same kernels in a recording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, final

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from benchrunner.backbones.encoder import Encoder
from benchrunner.features.arrays import Features
from benchrunner.features.flat_batch import FlatBatch, StaticShape, collate, rounding
from benchrunner.features.kernels import Kernels
from benchrunner.features.randomness import Dropout, Generators
from benchrunner.problems.problem import Problem
from benchrunner.training.half_weights import HalfWeights
from benchrunner.training.optimizer import Optimizer

GRAPHS = 64
"""Most graphs that a training records: each graph takes memory for its kernels' parameters and outputs."""
TOLERANCE = 1e-2
"""Largest difference between gradients by a graph and by single operators, as a share of the largest gradient."""


@final
@dataclass(frozen=True)
class Work:
    """What every step of a training computes with: the model, the problem, the data, the device and the optimizer."""

    model: Callable[[FlatBatch], Tensor]
    problem: Problem
    features: Features
    device: torch.device
    precision: str
    optimizer: Optimizer
    encoders: tuple[Encoder, ...] = ()
    """The encoders that take part in training."""
    label_smoothing: float = 0.0
    label_weights: Tensor | None = None
    kernels: Kernels | None = None
    halves: HalfWeights | None = None

    def add(self, batch: FlatBatch, divisor: float | Tensor) -> Tensor:
        """Compute the loss of a batch, divided by `divisor`; add up its gradients; return the loss.

        The weights get the gradients, or their copies in `halves`: see `HalfWeights.gradients`.
        """
        with ExitStack() as contexts:
            contexts.enter_context(precise(self.device, self.precision))
            if self.halves is not None:
                self.halves.fold()
                contexts.enter_context(self.halves.read())
            elif self.device.type == "cuda" and self.precision == "bf16":
                for encoder in self.encoders:
                    contexts.enter_context(encoder.cast_together())
            outputs = self.model(batch)
        return self.learn(outputs, batch, divisor)

    def learn(self, outputs: Tensor, batch: FlatBatch, divisor: float | Tensor) -> Tensor:
        """Do what `add` does, from the outputs on."""
        loss = self.loss(outputs, batch, divisor)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def loss(self, outputs: Tensor, batch: FlatBatch, divisor: float | Tensor) -> Tensor:
        """Compute the loss of a batch from its outputs, divided by `divisor`."""
        batch = replace(batch, label_smoothing=self.label_smoothing, label_weights=self.label_weights)
        return self.problem.loss(outputs, batch) / divisor

    def batch(self, units: np.ndarray, dropout: Dropout) -> FlatBatch:
        """Make the batch of some units."""
        multiple = rounding(self.precision, self.features.tokens_in(units))
        return collate(self.features, units, self.device, dropout=dropout, multiple=multiple, kernels=self.kernels)


def precise(device: torch.device, precision: str) -> torch.autocast:
    """Let models compute in a recipe's precision inside a `with` block."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")


class Steps(Protocol):
    """Computes the gradients of batches."""

    def clear(self) -> None:
        """Begin a step: forget the gradients of the step before."""

    def add(self, units: np.ndarray, dropout: Dropout, divisor: float) -> Tensor:
        """Add the gradients of a batch's loss, divided by `divisor`; return this loss as a tensor on the device."""


@final
@dataclass(frozen=True)
class Eager:
    """Computes each batch operator by operator."""

    work: Work

    def clear(self) -> None:
        self.work.optimizer.clear()

    def add(self, units: np.ndarray, dropout: Dropout, divisor: float) -> Tensor:
        return self.work.add(self.work.batch(units, dropout), divisor)

    def add_together(self, parts: Sequence[np.ndarray], dropouts: Sequence[Dropout], divisor: float) -> Tensor:
        """Add the gradients of a loss of a whole batch, whose outputs are computed in parts, as `Steps.add` does.

        Of each part, only the outputs are kept; the backward pass computes the rest again (Gao et al. 2021).
        """
        outputs = []
        for units, dropout in zip(parts, dropouts, strict=True):
            batch = self.work.batch(units, dropout)
            with precise(self.work.device, self.work.precision):
                outputs.append(checkpoint(self.work.model, batch, use_reentrant=False))
        whole = collate(self.work.features, np.concatenate(parts), self.work.device)
        return self.work.learn(torch.cat(outputs), whole, divisor)


class Graph(Protocol):
    """Records the work of a function on the device once, and repeats it on the same memory."""

    def record(self, function: Callable[[], Tensor], generators: Generators) -> Tensor:
        """Record the function without computing anything; return its result, which each replay writes anew."""

    def replay(self) -> None:
        """Compute what was recorded."""


@final
class CudaGraph:
    """A CUDA graph. The graphs of a training share a pool of memory, and may be replayed in any order.

    A replay may overwrite all that other graphs have left in the pool. What is read after the replays, or written by
    several graphs, must therefore be outside of it: inputs, weights and gradients.
    """

    def __init__(self, pool: Any) -> None:
        self._graph = torch.cuda.CUDAGraph()
        self._pool = pool

    def record(self, function: Callable[[], Tensor], generators: Generators) -> Tensor:
        for generator in generators.named.values():
            self._graph.register_generator_state(generator)
        with _restored(self._pool), torch.cuda.graph(self._graph, pool=self._pool):
            return function()

    def replay(self) -> None:
        self._graph.replay()


@contextmanager
def _restored(pool: Any) -> Iterator[None]:
    """Put the stream, the allocator and the default generator back after a recording, so that training can go on.

    Three facts about torch, where CUDA has declared a recording invalid:
    1. It raises before it leaves the stream of the recording.
    2. It raises before it tells its allocator that the recording has ended.
    3. Up to torch 2.12, the generators of the recording cannot be used any more. The default generator is always one of
       them, so it gets another state for the recording.
    """
    device = torch.device("cuda", torch.cuda.current_device())
    usual_stream = torch.cuda.current_stream()
    generator = torch.cuda.default_generators[device.index]
    usual_state = generator.graphsafe_get_state()
    generator.graphsafe_set_state(torch.Generator(device))
    try:
        yield
    finally:
        generator.graphsafe_set_state(usual_state)
        if torch.cuda.current_stream() != usual_stream:
            torch.cuda.set_stream(usual_stream)
            with suppress(RuntimeError):  # the allocator knows of no recording: nothing is left to do
                torch._C._cuda_endAllocateToPool(device.index, pool)
                torch._C._cuda_releasePool(device.index, pool)


@final
@dataclass(frozen=True)
class _Recording:
    """A recorded batch shape: its graph, the generators and tensors that it reads, and the loss that it writes."""

    graph: Graph
    generators: Generators
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

    work: Work
    graph: Callable[[], Graph]
    note: Callable[[str], None] = lambda text: None
    recorded: dict[tuple[int, ...], _Recording] = field(init=False, default_factory=dict)
    """(Tokens with the filling, sequences, units) of a batch -> its graph."""

    def __post_init__(self) -> None:
        self._generators = Generators()
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
        dropout = dropout.drawn_by(self._generators)
        sequences = int((features.groups[units + 1] - features.groups[units]).sum())
        shape = StaticShape.of(features.tokens_in(units), sequences, self._longest)
        batch = collate(features, units, self.work.device, dropout=dropout, shape=shape)
        share = torch.full((), divisor, device=self.work.device)
        key = (shape.tokens, sequences, len(units))
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

    def _replay(
        self,
        recording: _Recording,
        batch: FlatBatch,
        share: Tensor,
    ) -> Tensor:
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

    def _compare(
        self,
        recording: _Recording,
        batch: FlatBatch,
        share: Tensor,
    ) -> _Recording:
        """Return a recording that computes the gradients of its operators one by one, up to `TOLERANCE`, else raise.

        The batch is not the one from which the graph was recorded: a graph that keeps a value of that batch is found.
        The gradients that the weights had before are restored.
        """
        gradients = list(self._gradients.values())
        before = [gradient.clone() for gradient in gradients]
        again = replace(batch, dropout=batch.dropout.drawn_by(self._generators))
        try:
            torch._foreach_zero_(gradients)
            self.work.add(again, share)
            expected = [gradient.clone() for gradient in gradients]
            torch._foreach_zero_(gradients)
            self._replay(recording, batch, share)
            differences = [(right - gradient).abs().max() for right, gradient in zip(expected, gradients, strict=True)]
        finally:
            torch._foreach_copy_(gradients, before)
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
