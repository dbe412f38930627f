"""Batches of fixed shape on the CPU: an encoder for them, its training's work, and stand-ins for CUDA graphs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest
import torch

from benchrunner.features.flat_batch import FlatBatch
from benchrunner.methods.heads import LinearHead
from benchrunner.parameters.recipes import Recipe
from benchrunner.problems.problem import Problem
from benchrunner.training.gradients import Work
from benchrunner.training.optimizer import Optimizer
from benchrunner_checkpoints.attention import attention
from benchrunner_devices.graphs import GraphGenerators
from benchrunner_kit.testing import MOOD, TinyEncoder, sentences
from benchrunner_kit.testing.tiny_encoder import HIDDEN
from fused_kernels import installed
from kinds_of_tasks import rows_of_kind

CPU = torch.device("cpu")
RECIPE = Recipe(lr=1e-2, epochs=1, batch_size=8, dropout=0.1)


class StaticEncoder(TinyEncoder):
    """The tiny encoder with heads that fused kernels can compute, and a summary that reads no lengths."""

    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        hidden = batch.dropout(self.word(batch.tokens) + self.position(batch.positions), self.dropout, "words")
        yield hidden
        qkv = self.qkv(hidden).unflatten(-1, (3, 3, 4))
        yield self.norm(hidden + attention.attend(qkv, batch, rate=self.dropout, site="attention"))

    def summary(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return torch.tanh(self.dense(hidden.index_select(0, self.summary_tokens(batch))))


class StandIn:
    """Stands for a CUDA graph: computes the recorded function again, on the same tensors."""

    def __init__(self) -> None:
        self.replays = 0

    def record(self, function: Callable[[], torch.Tensor], generators: GraphGenerators) -> torch.Tensor:
        self._function = function
        self._result = torch.zeros(())
        return self._result

    def replay(self) -> None:
        self.replays += 1
        self._result.copy_(self._function())


class Broken(StandIn):
    """A graph that cannot be recorded."""

    def record(self, function: Callable[[], torch.Tensor], generators: GraphGenerators) -> torch.Tensor:
        raise RuntimeError("operation not permitted when stream is capturing\nmore")


@contextmanager
def path_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compute attention on the CPU along the path of a GPU."""
    monkeypatch.setattr(attention, "capability", lambda device: (8, 0))
    with installed():
        yield


def work(*, dropout: float, problem: Problem = MOOD, encoder: TinyEncoder | None = None, count: int = 64) -> Work:
    """Make the work of training a tiny encoder."""
    encoder = encoder or StaticEncoder(dropout=dropout)
    columns = sentences(count, seed=1) if problem is MOOD else rows_of_kind("tag", count, 1)
    features = problem.encode(pa.table(columns), encoder, Recipe(context="sentence"), training=True)
    head = LinearHead(HIDDEN, problem.head, seed=4)
    modules = {"encoder": encoder, "head": head}
    model = lambda batch: head(encoder, batch)  # noqa: E731
    return Work(model, problem, features, CPU, "fp32", Optimizer(modules, RECIPE))
