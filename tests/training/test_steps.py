"""Gradients of batches in fixed shapes, and by graphs, against those of batches as they are."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

import benchrunner.training.steps
from benchrunner.backbones import attention
from benchrunner.features.flat_batch import FlatBatch
from benchrunner.features.randomness import Dropout, Generators
from benchrunner.methods.heads import LinearHead
from benchrunner.problems.problem import Problem
from benchrunner.problems.tag import Tag
from benchrunner.recipes import Recipe
from benchrunner.testing import MOOD, TinyEncoder, sentences
from benchrunner.testing.tiny_encoder import HIDDEN
from benchrunner.training import numerics
from benchrunner.training.checkpoints import Checkpoint
from benchrunner.training.graphs import CudaGraph, Graph
from benchrunner.training.loop import Training
from benchrunner.training.optimizer import Optimizer
from benchrunner.training.steps import Captured, Eager, Steps, Work
from fused_kernels import installed
from kinds_of_tasks import rows_of_kind
from tape_graph import Tape
from tiny_fits import Killed, killed_after

CPU = torch.device("cpu")
RECIPE = Recipe(lr=1e-2, epochs=1, batch_size=8, dropout=0.1)
EPOCHS = RECIPE.changed(epochs=2)
TAGS = Tag(("O", "B"))


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

    def record(self, function: Callable[[], torch.Tensor], generators: Generators) -> torch.Tensor:
        self._function = function
        self._result = torch.zeros(())
        return self._result

    def replay(self) -> None:
        self.replays += 1
        self._result.copy_(self._function())


class Broken(StandIn):
    """A graph that cannot be recorded."""

    def record(self, function: Callable[[], torch.Tensor], generators: Generators) -> torch.Tensor:
        raise RuntimeError("operation not permitted when stream is capturing\nmore")


class Wrong(StandIn):
    """A graph that computes nothing when it is replayed."""

    def replay(self) -> None:
        self.replays += 1


@pytest.fixture(autouse=True)
def fused(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
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
        device=CPU,
        checkpoint=Checkpoint(tmp_path / "checkpoint"),
        log=tmp_path / "log.jsonl",
        note=notes.append,
    )
    training._go_on_with(Captured(training._work, StandIn), 0)
    assert numerics.of(training)["cuda_graphs"] is True
    training._learn(0)
    assert isinstance(training._way, Eager) and "cuda_graphs" not in numerics.of(training)
    assert len(notes) == 1 and "reads" in notes[0] and training.notes == notes


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
    [(lambda: Sized(dropout=0.0), "other gradients"), (late, "had none in the first step")],
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
    assert len(notes) == 1 and "had none in the first step" in notes[0]


def test_no_more_graphs_are_recorded_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchrunner.training.steps, "GRAPHS", 2)
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


@dataclass
class Captures(Training):
    """A training that computes steps in fixed shapes on the CPU, as on a GPU."""

    graph: Callable[[], Graph] = StandIn

    def _graphs(self) -> Callable[[], Graph] | None:
        return self.graph if self.cuda_graphs else None


Model = Callable[[FlatBatch], torch.Tensor]


def captures(
    folder: Path,
    model: Callable[[Model], Model] = lambda model: model,
    *,
    encoder: TinyEncoder | None = None,
    recipe: Recipe = EPOCHS,
    count: int = 64,
    **options: Any,
) -> Captures:
    """Make a training of the tiny encoder in fixed shapes. `model` changes what is computed."""
    kept = work(dropout=0.0, count=count)
    encoder, head = encoder or StaticEncoder(dropout=0.0), LinearHead(HIDDEN, MOOD.head, seed=4)
    return Captures(
        model=model(lambda batch: head(encoder, batch)),
        modules={"encoder": encoder, "head": head},
        features=kept.features,
        problem=MOOD,
        recipe=recipe,
        seed=4,
        device=CPU,
        checkpoint=Checkpoint(folder / "checkpoint"),
        log=folder / "log.jsonl",
        checkpoint_seconds=0.0,
        **{"cuda_graphs": True, **options},
    )


def killed(training: Captures, step: int) -> None:
    """Run a training that is killed after a step."""
    training.report = killed_after(step)
    with pytest.raises(Killed):
        training.run()


def check_same_weights(left: Training, right: Training) -> None:
    for name, weight in left.optimizer.named.items():
        assert torch.equal(weight, right.optimizer.named[name]), name


def test_a_resumed_training_has_the_bits_of_an_unbroken_one(tmp_path: Path) -> None:
    """After the resumption, other batches are computed by graphs than in the unbroken training."""
    unbroken = captures(tmp_path / "unbroken")
    unbroken.run()
    killed(captures(tmp_path / "killed"), 9)
    resumed = captures(tmp_path / "killed")
    resumed.run()
    assert resumed.first > 0 and unbroken.captured == resumed.captured == {0: True}
    check_same_weights(unbroken, resumed)


class Pointwise(StaticEncoder):
    """Computes each token for itself: autocast chooses the types of all layers."""

    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        hidden = self.word(batch.tokens) + self.position(batch.positions)
        yield self.norm(hidden + self.qkv(hidden)[:, :HIDDEN])


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_graphs_of_several_shapes_train_as_their_operators_do(precision: Any, tmp_path: Path) -> None:
    """Steps of several micro-batches, a last batch that is smaller, clipping, and weights that change.

    The graphs share their memory. In bf16, each of them casts the weights of its step.
    """
    recipe, pool = RECIPE.changed(epochs=8, micro_tokens=48, clip=0.5, precision=precision), list[Tape]()
    make = StaticEncoder if precision == "fp32" else Pointwise
    options: dict[str, Any] = {"recipe": recipe, "count": 44}
    one_by_one = captures(tmp_path / "one", encoder=make(dropout=0.0), graph=Broken, **options)
    replayed = captures(tmp_path / "two", encoder=make(dropout=0.0), graph=lambda: Tape(pool), **options)
    one_by_one.run()
    replayed.run()
    assert len(pool) > 3 and sum(tape.replays for tape in pool) > 20 and not replayed.notes
    check_same_weights(one_by_one, replayed)


def test_graphs_are_freed_when_training_ends(tmp_path: Path) -> None:
    training, ways = captures(tmp_path, graph=Broken), list[weakref.ref[Steps]]()
    training.report = lambda step, steps, figures: ways.append(weakref.ref(training._way))
    gc.disable()
    try:
        training.run()
        assert training.captured == {0: True} and {way() for way in ways} == {None}
    finally:
        gc.enable()


def test_the_record_names_the_steps_that_were_captured(tmp_path: Path) -> None:
    """A training that was begun without the option goes on with it, and the other way round."""
    killed(captures(tmp_path, cuda_graphs=False), 3)
    killed(captures(tmp_path), 9)
    resumed = captures(tmp_path, cuda_graphs=False)
    resumed.run()
    assert numerics.of(resumed)["cuda_graphs"] == [[0, False], [3, True], [9, False]]


def scarce(call: int) -> Callable[[Model], Model]:
    """Give a model wrapper that runs out of memory in one call."""
    calls: list[int] = []

    def wrap(model: Model) -> Model:
        def compute(batch: FlatBatch) -> torch.Tensor:
            calls.append(len(batch.tokens))
            if len(calls) == call:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return model(batch)

        return compute

    return wrap


def test_a_recording_without_enough_memory_is_the_last(tmp_path: Path) -> None:
    """The comparison of the first graph takes memory for gradients."""
    training = captures(tmp_path, scarce(4))
    training.run()
    assert training.captured == {0: True} and training.diverged is None and list(training.budgets) == [0]
    assert len(training.notes) == 1 and "out of memory" in training.notes[0]


@pytest.mark.parametrize(("call", "step", "kept"), [(1, 0, None), (6, 3, [[0, True], [3, False]])])
def test_no_graphs_are_used_after_memory_ran_out(call: int, step: int, kept: object, tmp_path: Path) -> None:
    unbroken = captures(tmp_path / "unbroken", scarce(call))
    unbroken.run()
    assert list(unbroken.budgets) == sorted({0, step})
    assert numerics.of(unbroken).get("cuda_graphs") == kept
    (note,) = unbroken.notes
    assert note.startswith(f"no CUDA graphs from step {step + 1} on, where memory ran out")
    killed(captures(tmp_path / "killed", scarce(call)), 9)
    resumed = captures(tmp_path / "killed")
    resumed.run()
    assert resumed.first > 0 and resumed.captured == unbroken.captured and not resumed.notes
    check_same_weights(unbroken, resumed)
