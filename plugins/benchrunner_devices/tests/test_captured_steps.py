"""Gradients of batches in fixed shapes, and by graphs, against those of batches as they are."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from static_encoders import RECIPE, Broken, StandIn, StaticEncoder, path_of_a_gpu, work
from tape_graph import Tape

from benchrunner.features.flat_batch import FlatBatch
from benchrunner.features.randomness import Dropout
from benchrunner.fits.computing import Computing
from benchrunner.methods.heads import LinearHead
from benchrunner.parameters.recipes import Recipe
from benchrunner.problems.problem import Problem
from benchrunner.training import numerics
from benchrunner.training.checkpoints import Checkpoint
from benchrunner.training.gradients import Eager, Steps, Work
from benchrunner.training.loop import Training
from benchrunner.training.optimizer import Optimizer
from benchrunner_devices.captured import Captured
from benchrunner_devices.graphs import CudaGraph, Graph
from benchrunner_kinds import Tag
from benchrunner_kit.testing import MOOD, TinyEncoder, sentences
from benchrunner_kit.testing.tiny_encoder import HIDDEN

TAGS = Tag(("O", "B"))


class Wrong(StandIn):
    """A graph that computes nothing when it is replayed."""

    def replay(self) -> None:
        self.replays += 1


@pytest.fixture(autouse=True)
def fused(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with path_of_a_gpu(monkeypatch):
        yield


def gradients_of(
    steps: Steps, kept: Work, step: int, *, sizes: Sequence[int] = (8, 4)
) -> dict[str, torch.Tensor | None]:
    """Compute the gradients of a step of several micro-batches, and its loss, without changing the weights."""
    units = np.random.default_rng(step % 4).permutation(kept.features.units)[: sum(sizes)]
    torch.manual_seed(step)  # the stand-ins of the fused kernels draw from torch's generator
    steps.clear()
    losses = [
        steps.add(part, Dropout(3, step, number), kept.features.loss_weight(units))
        for number, part in enumerate(np.split(units, np.cumsum(sizes)[:-1]))
    ]
    weights = kept.optimizer.named.items()
    gradients = {name: None if weight.grad is None else weight.grad.clone() for name, weight in weights}
    return {"loss": sum(losses), **gradients}  # type: ignore[dict-item]


def check_equal(left: dict[str, torch.Tensor | None], right: dict[str, torch.Tensor | None]) -> None:
    assert left.keys() == right.keys()
    for name, expected in left.items():
        found = right[name]
        assert (expected is None) == (found is None), name
        if expected is not None and found is not None:
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6, msg=name)


@pytest.mark.parametrize("problem", [MOOD, TAGS], ids=["classify", "tag"])
def test_a_batch_of_fixed_shape_has_the_same_gradients(problem: Problem) -> None:
    """With dropout: the masks of the real tokens do not depend on the filling."""
    eager, fixed = work(dropout=0.3, problem=problem), work(dropout=0.3, problem=problem)
    captured = Captured(fixed, Broken)
    for step in range(5):
        check_equal(gradients_of(Eager(eager), eager, step), gradients_of(captured, fixed, step))
    assert not captured.recorded


@pytest.mark.parametrize("problem", [MOOD, TAGS], ids=["classify", "tag"])
def test_replayed_graphs_have_the_gradients_of_their_batches(problem: Problem) -> None:
    eager, fixed = work(dropout=0.0, problem=problem), work(dropout=0.0, problem=problem)
    graphs: list[StandIn] = []

    def graph() -> Graph:
        graphs.append(StandIn())
        return graphs[-1]

    captured = Captured(fixed, graph)
    for step in range(7):
        check_equal(gradients_of(Eager(eager), eager, step), gradients_of(captured, fixed, step))
    assert len(captured.recorded) == len(graphs) > 0
    assert sum(graph.replays for graph in graphs) > len(graphs)


def test_weights_without_a_gradient_stay_without_one() -> None:
    """Adam would change a weight with a gradient of zero."""
    encoder = StaticEncoder(dropout=0.0)
    encoder.unused = torch.nn.Linear(2, 2)  # type: ignore[assignment]
    kept = work(dropout=0.0, encoder=encoder)
    captured = Captured(kept, StandIn)
    for step in range(6):
        gradients = gradients_of(captured, kept, step)
        assert gradients["encoder.unused.weight"] is None and gradients["encoder.word.weight"] is not None
    assert captured.recorded


@pytest.mark.parametrize(
    ("graph", "reason"), [(Broken, "operation not permitted when stream is capturing"), (Wrong, "other gradients")]
)
def test_a_graph_that_fails_or_errs_is_not_used(graph: Callable[[], Graph], reason: str) -> None:
    notes: list[str] = []
    eager, fixed = work(dropout=0.0), work(dropout=0.0)
    captured = Captured(fixed, graph, notes.append)
    for step in range(6):
        check_equal(gradients_of(Eager(eager), eager, step), gradients_of(captured, fixed, step))
    assert not captured.recorded and len(notes) == 1 and reason in notes[0] and "\n" not in notes[0]
    assert notes[0].startswith("no CUDA graphs: ")


def test_graphs_recorded_before_a_failure_go_on_being_used() -> None:
    notes, graphs = list[str](), list[StandIn]()

    def graph() -> Graph:
        graphs.append(Broken() if graphs else StandIn())
        return graphs[-1]

    eager, fixed = work(dropout=0.0), work(dropout=0.0)
    captured = Captured(fixed, graph, notes.append)
    for step in range(9):
        check_equal(gradients_of(Eager(eager), eager, step), gradients_of(captured, fixed, step))
    assert len(captured.recorded) == 1 and len(graphs) == 2 and graphs[0].replays > 2
    assert len(notes) == 1 and notes[0].startswith("no further CUDA graphs: operation not permitted")


def test_a_model_that_reads_lengths_is_computed_as_it_is(tmp_path: Path) -> None:
    """The summary of the tiny encoder is a mean over each sequence."""
    encoder, notes = TinyEncoder(dropout=0.0), list[str]()
    head = LinearHead(HIDDEN, MOOD.head, seed=4)
    features = MOOD.encode(pa.table(sentences(24, seed=1)), encoder, Recipe(), training=True)
    training = Training(
        model=lambda batch: head(encoder, batch),
        modules={"encoder": encoder, "head": head},
        features=features,
        problem=MOOD,
        recipe=RECIPE,
        seed=4,
        computing=Computing("cpu"),
        checkpoint=Checkpoint(tmp_path / "checkpoint"),
        log=tmp_path / "log.jsonl",
        note=notes.append,
    )
    training._go_on_with(Captured(training.means, StandIn), 0)
    assert numerics.of(training)["cuda_graphs"] is True
    training._learn(0)
    assert isinstance(training._way, Eager) and "cuda_graphs" not in numerics.of(training)
    assert not notes and not training.notes, "nobody asked for graphs"


def test_a_graph_is_recorded_after_a_batch_that_added_up() -> None:
    """The first step makes the gradients, and a recording must not be the first to add to gradients."""
    kept = work(dropout=0.0)
    captured = Captured(kept, StandIn)
    counts = [(gradients_of(captured, kept, 0), len(captured.recorded))[1] for _ in range(5)]
    assert counts == [0, 0, 1, 2, 2], "the second shape waits until the first graph is known to be right"


class Sized(StaticEncoder):
    """Reads a number of the batch on the host, which a graph keeps."""

    def summary(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return super().summary(hidden, batch) * (int(batch.tokens.sum()) % 7 + 1)


class Rare(StaticEncoder):
    """Uses a layer for some batches only."""

    def __init__(self, used: Callable[[FlatBatch], bool]) -> None:
        super().__init__(dropout=0.0)
        self.rare, self.used = torch.nn.Linear(HIDDEN, HIDDEN), used

    def summary(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        summary = super().summary(hidden, batch)
        return summary + self.rare(summary) if self.used(batch) else summary


def late() -> Rare:
    """Make an encoder that uses a layer from the third step on."""
    return Rare(lambda batch: int(str(batch.dropout._step[0])) >= 2)


def large() -> Rare:
    """Make an encoder that uses a layer for more than four sequences."""
    return Rare(lambda batch: len(batch.restore) > 4)


@pytest.mark.parametrize(
    ("make", "reason"),
    [(lambda: Sized(dropout=0.0), "other gradients"), (late, "had none in the first one")],
    ids=["keeps a number", "another weight"],
)
def test_a_graph_of_its_own_batch_alone_is_not_used(make: Callable[[], StaticEncoder], reason: str) -> None:
    notes, pool, encoders = list[str](), list[Tape](), [make(), make()]
    encoders[1].load_state_dict(encoders[0].state_dict())
    eager, fixed = (work(dropout=0.0, encoder=encoder) for encoder in encoders)
    captured = Captured(fixed, lambda: Tape(pool), notes.append)
    for step in range(8):
        expected, found = gradients_of(Eager(eager), eager, step), gradients_of(captured, fixed, step)
        check_equal(expected, found)
    assert pool and not captured.recorded and len(notes) == 1 and reason in notes[0]


def test_a_graph_never_writes_to_a_gradient_of_one_step() -> None:
    """The first step did not use a layer; a graph is recorded after another batch has given the layer a gradient."""
    encoders, pool, notes = [large(), large()], list[Tape](), list[str]()
    encoders[1].load_state_dict(encoders[0].state_dict())
    eager, fixed = (work(dropout=0.0, encoder=encoder) for encoder in encoders)
    captured = Captured(fixed, lambda: Tape(pool), notes.append)
    for step, sizes in enumerate([(4,), (4,), (4,), (4, 5), (6, 5), (5,), (4,)]):
        expected = gradients_of(Eager(eager), eager, step, sizes=sizes)
        check_equal(expected, gradients_of(captured, fixed, step, sizes=sizes))
    assert len(pool) == 2 and len(captured.recorded) == 1 and pool[0].replays > 2
    assert len(notes) == 1 and "had none in the first one" in notes[0]


def test_no_more_graphs_are_recorded_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchrunner_devices.captured.GRAPHS", 2)
    eager, fixed, pool, notes = work(dropout=0.0), work(dropout=0.0), list[Tape](), list[str]()
    captured = Captured(fixed, lambda: Tape(pool), notes.append)
    for step in range(16):
        check_equal(gradients_of(Eager(eager), eager, step), gradients_of(captured, fixed, step))
    assert len(captured.recorded) == len(pool) == 2 and not notes
    assert len(captured._warm) > 2 and all(tape.replays > 2 for tape in pool)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need a CUDA device")
def test_cuda_graphs_compute_what_their_operators_compute() -> None:
    results = []
    for graph in (lambda: CudaGraph(torch.cuda.graph_pool_handle()), Broken):
        encoder = StaticEncoder(dropout=0.3).cuda()
        kept = work(dropout=0.3, encoder=encoder)
        head = LinearHead(HIDDEN, MOOD.head, seed=4).cuda()
        optimizer = Optimizer({"encoder": encoder, "head": head}, RECIPE)
        model = lambda batch, head=head, encoder=encoder: head(encoder, batch)  # noqa: E731
        kept = Work(model, MOOD, kept.features, torch.device("cuda", 0), "fp32", optimizer)
        captured = Captured(kept, graph)  # type: ignore[arg-type]
        results.append([gradients_of(captured, kept, step) for step in range(9)])
        assert bool(captured.recorded) == (graph is not Broken)
    for left, right in zip(*results, strict=True):
        assert left.keys() == right.keys()
        assert all(torch.equal(left[name], right[name]) for name in left)  # type: ignore[arg-type]
