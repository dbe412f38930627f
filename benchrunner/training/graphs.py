"""CUDA graphs: the work of a function on the device, recorded once and repeated on the same memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol, final

import torch

from benchrunner.features.randomness import Generators


class Graph(Protocol):
    """Records the work of a function on the device once, and repeats it on the same memory."""

    def record(self, function: Callable[[], torch.Tensor], generators: Generators) -> torch.Tensor:
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

    def record(self, function: Callable[[], torch.Tensor], generators: Generators) -> torch.Tensor:
        for generator in generators.named.values():
            self._graph.register_generator_state(generator)
        with _cleared_up(self._pool), torch.cuda.graph(self._graph, pool=self._pool):
            return function()

    def replay(self) -> None:
        self._graph.replay()


@contextmanager
def _cleared_up(pool: Any) -> Iterator[None]:
    """Restore what torch leaves changed if CUDA has declared a recording invalid, so that training can go on.

    torch then raises before it leaves the stream of the recording, and before it tells its allocator of the end. The
    generators of the recording cannot be used any more up to torch 2.12. One of them is always the default one: it has
    a state of its own during the recording.
    """
    device = torch.device("cuda", torch.cuda.current_device())
    stream = torch.cuda.current_stream()
    default = torch.cuda.default_generators[device.index]
    own = default.graphsafe_get_state()
    default.graphsafe_set_state(torch.Generator(device))
    try:
        yield
    finally:
        default.graphsafe_set_state(own)
        if torch.cuda.current_stream() != stream:
            torch.cuda.set_stream(stream)
            with suppress(RuntimeError):  # the allocator knows of no recording: nothing is left to do
                torch._C._cuda_endAllocateToPool(device.index, pool)
                torch._C._cuda_releasePool(device.index, pool)
