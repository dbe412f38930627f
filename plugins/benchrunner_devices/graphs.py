"""CUDA graphs, and the generators of the random numbers that they draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol, final

import torch
from torch import Tensor

from benchrunner.engine import Dropout


@final
class GraphGenerators:
    """The generators of passes of fixed shape, by the name of their streams.

    While a graph is recorded, no generator can be made, seeded or asked for its place. Kernels in the graph read seed
    and place from tensors that belong to the generators. Before each replay, `seed` therefore gives the generators the
    seeds of the pass, from which the graph draws what the pass would draw without it.
    """

    def __init__(self) -> None:
        self.named: dict[str, torch.Generator] = {}
        self.recorded = False
        """Whether the generators are those of a graph, and only the graph draws from them."""

    def for_a_graph(self) -> GraphGenerators:
        """Make generators for the same streams, for one graph. A graph that fails may leave its generators useless."""
        generators = GraphGenerators()
        generators.named = {name: torch.Generator(source.device) for name, source in self.named.items()}
        generators.recorded = True
        return generators

    def of(self, device: torch.device, name: str, dropout: Dropout) -> torch.Generator:
        """Give the generator of a stream, with the seed of a pass unless a graph is recorded."""
        if self.recorded:
            if name not in self.named:
                raise RuntimeError(f"A CUDA graph cannot draw random numbers that were not drawn before it: '{name}'.")
            return self.named[name]
        if name not in self.named:
            self.named[name] = torch.Generator(device)
        return self.named[name].manual_seed(dropout.stream_seed(name))

    def seed(self, dropout: Dropout) -> None:
        """Give all generators the seeds of a pass."""
        for name, generator in self.named.items():
            generator.manual_seed(dropout.stream_seed(name))


class Graph(Protocol):
    """Records the work of a function on the device once, and repeats it on the same memory."""

    def record(self, function: Callable[[], Tensor], generators: GraphGenerators) -> Tensor:
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

    def record(self, function: Callable[[], Tensor], generators: GraphGenerators) -> Tensor:
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
