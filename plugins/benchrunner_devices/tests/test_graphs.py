"""A recording that CUDA declares invalid leaves no trace: training goes on as if it had not been tried."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from benchrunner_devices.graphs import CudaGraph, GraphGenerators

POOL = (0, 1)


class Machine:
    """What torch knows of a GPU: the current stream, the default generator's state, and recordings of the allocator."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, fails: bool) -> None:
        self.stream, self.state, self.fails = "default", "own", fails
        self.underway, self.calls = list[Any](), list[Any]()
        default = SimpleNamespace(graphsafe_get_state=lambda: self.state, graphsafe_set_state=self.set_state)
        for name, value in {
            "CUDAGraph": lambda: SimpleNamespace(register_generator_state=self.calls.append),
            "graph": self.graph,
            "current_device": lambda: 0,
            "current_stream": lambda: self.stream,
            "set_stream": lambda stream: setattr(self, "stream", stream),
            "default_generators": (default,),
        }.items():
            monkeypatch.setattr(torch.cuda, name, value)
        monkeypatch.setattr(torch, "Generator", lambda device: f"new on {device}")
        monkeypatch.setattr(torch._C, "_cuda_endAllocateToPool", self.end, raising=False)
        monkeypatch.setattr(torch._C, "_cuda_releasePool", lambda *pool: self.calls.append(pool), raising=False)

    def set_state(self, state: str) -> None:
        self.state = state

    def end(self, device: int, pool: object) -> None:
        if pool not in self.underway:
            raise RuntimeError("not currently recording to mempool_id")
        self.underway.remove(pool)

    @contextmanager
    def graph(self, graph: object, pool: object) -> Iterator[None]:
        """Record as torch does: an invalid recording ends with an error, and nothing after the error is done."""
        assert self.state == "new on cuda:0"
        self.stream = "side"
        self.underway.append(pool)
        try:
            yield
        finally:
            if self.fails:
                raise RuntimeError("CUDA error: operation failed due to a previous error during capture")
            self.underway.remove(pool)
            self.stream = "default"


def recorded(machine: Machine) -> torch.Tensor:
    generators = GraphGenerators()
    generators.named = {"": "shared"}  # type: ignore[dict-item]
    return CudaGraph(POOL).record(lambda: torch.full((), float(machine.stream == "side")), generators)


def test_a_recording_leaves_the_stream_and_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, fails=False)
    assert recorded(machine) == 1
    assert (machine.stream, machine.state, machine.underway) == ("default", "own", [])
    assert machine.calls == ["shared"], "registered, and the pool belongs to the graph"


def test_an_invalid_recording_is_cleared_up(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, fails=True)
    with pytest.raises(RuntimeError, match="previous error during capture"):
        recorded(machine)
    assert (machine.stream, machine.state, machine.underway) == ("default", "own", [])
    assert machine.calls == ["shared", (0, POOL)], "the pool is released once"


def test_a_recording_that_has_ended_is_not_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph itself releases its pool then, for example if there is no memory to make it executable."""
    machine = Machine(monkeypatch, fails=True)
    monkeypatch.setattr(machine, "underway", EndedAtOnce())
    with pytest.raises(RuntimeError, match="previous error during capture"):
        recorded(machine)
    assert machine.stream == "default" and machine.calls == ["shared"]


class EndedAtOnce(list[Any]):
    """The recordings of an allocator that has been told of the end of each."""

    def append(self, pool: Any) -> None:
        pass
