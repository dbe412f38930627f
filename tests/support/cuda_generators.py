"""A stand-in for the generators of CUDA devices, on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch


@dataclass
class State:
    """State of a CUDA generator: numbers are known by seed and offset."""

    seed: int = 0
    offset: int = 0
    recording: bool = False


class CudaGenerator:
    """Stands for a generator of CUDA device 0, whose state can be lent to another generator."""

    device = torch.device("cuda", 0)

    def __init__(self, device: torch.device | None = None) -> None:
        self.state = State()

    def manual_seed(self, seed: int) -> CudaGenerator:
        assert not self.state.recording, "torch refuses this while a graph is recorded"
        self.state.seed, self.state.offset = seed, 0
        return self

    def get_offset(self) -> int:
        assert not self.state.recording, "torch refuses this while a graph is recorded"
        return self.state.offset

    def set_offset(self, offset: int) -> None:
        assert not self.state.recording, "torch refuses this while a graph is recorded"
        self.state.offset = offset

    def graphsafe_get_state(self) -> CudaGenerator:
        copy = CudaGenerator()
        copy.state = self.state
        return copy

    def graphsafe_set_state(self, generator: CudaGenerator) -> None:
        self.state = generator.state

    def draw(self, count: int) -> tuple[int, int]:
        """Draw numbers as a kernel does, and return what tells them from other numbers."""
        place = self.state.seed, self.state.offset
        self.state.offset += count
        return place


@pytest.fixture
def default(monkeypatch: pytest.MonkeyPatch) -> Iterator[CudaGenerator]:
    """Give the generator that stands for the default one of CUDA device 0."""
    generator = CudaGenerator().manual_seed(1)
    generator.draw(8)
    monkeypatch.setattr(torch, "Generator", CudaGenerator)
    monkeypatch.setattr(torch.cuda, "default_generators", (generator,))
    yield generator
    assert generator.state == State(1, 8), "the default generator goes on with its own numbers"
