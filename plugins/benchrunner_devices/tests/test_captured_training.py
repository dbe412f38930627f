"""Whole trainings in fixed shapes, by stand-ins for CUDA graphs: resumption, the record, and memory that runs out."""

import gc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from static_encoders import RECIPE, Broken, StandIn, StaticEncoder, path_of_a_gpu, work
from tape_graph import Tape

from benchrunner.features.flat_batch import FlatBatch
from benchrunner.fits.computing import Computing
from benchrunner.methods.heads import LinearHead
from benchrunner.parameters.recipes import Recipe
from benchrunner.training import numerics
from benchrunner.training.checkpoints import Checkpoint
from benchrunner.training.gradients import Steps
from benchrunner.training.loop import Training
from benchrunner_devices.captured import Captured
from benchrunner_devices.graphs import Graph
from benchrunner_kit.testing import MOOD, TinyEncoder
from benchrunner_kit.testing.tiny_encoder import HIDDEN
from tiny_fits import Killed, killed_after

EPOCHS = RECIPE.changed(epochs=2)


@pytest.fixture(autouse=True)
def fused(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with path_of_a_gpu(monkeypatch):
        yield


Model = Callable[[FlatBatch], torch.Tensor]


def captures(
    folder: Path,
    model: Callable[[Model], Model] = lambda model: model,
    *,
    encoder: TinyEncoder | None = None,
    recipe: Recipe = EPOCHS,
    count: int = 64,
    cuda_graphs: bool = True,
    graph: Callable[[], Graph] = StandIn,
    **options: Any,
) -> Training:
    """Make a training that computes steps in fixed shapes on the CPU, as on a GPU. `model` changes what is computed."""
    kept = work(dropout=0.0, count=count)
    encoder, head = encoder or StaticEncoder(dropout=0.0), LinearHead(HIDDEN, MOOD.head, seed=4)
    training = Training(
        model=model(lambda batch: head(encoder, batch)),
        modules={"encoder": encoder, "head": head},
        features=kept.features,
        problem=MOOD,
        recipe=recipe,
        seed=4,
        computing=Computing("cpu", checkpoint_seconds=0, cuda_graphs=cuda_graphs),
        checkpoint=Checkpoint(folder / "checkpoint"),
        log=folder / "log.jsonl",
        **options,
    )
    if cuda_graphs:
        training.fixed_shapes = lambda: Captured(training.means, graph, training.remark)
    return training


def killed(training: Training, step: int) -> None:
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
    recipe, pool = RECIPE.changed(epochs=4, micro_tokens=48, clip=0.5, precision=precision), list[Tape]()
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
