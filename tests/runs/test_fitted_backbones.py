"""A chain of fits: the second begins with the first's encoder and head to the bit, and being killed costs it alone."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import load_file

import forked
import inline
from benchrunner import Workspace
from benchrunner.results import Computing, Fit, Runner, discover
from inline import METHODS, own, plugin
from trees import trees

NAMES = ("mine/trees", "mine/later")


def made(folder: Path, *, die_at: int | None = None) -> Runner:
    """Two tasks of one kind; with `die_at`, the process is killed at that step of a second stage."""

    def on_progress(fit, event):  # type: ignore[no-untyped-def]
        if die_at is not None and fit.backbone.startswith("run:") and event.kind == "step" and event.done == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    tasks = [trees(name) for name in NAMES]
    offered = own(register_tasks=[replace(task, recipe=task.recipe.changed(epochs=2)) for task in tasks])
    found = discover(extra=[METHODS, ("own", offered), ("deadly", plugin(on_progress=on_progress))], installed=False)
    workspace = Workspace(folder / "runs", folder / "cache", data=folder / "data")
    return Runner(found, workspace, Computing("cpu", checkpoint_seconds=0))


def first_stage(runner: Runner) -> Fit:
    fit = runner.planner.plan(runner.plugins.tasks.find(NAMES[0]), "words")
    assert runner.run(fit).status == "done"
    return fit


def second_stage(runner: Runner, first: Fit, *, lr: float = 0.03) -> Fit:
    task = runner.plugins.tasks.find(NAMES[1])
    return runner.planner.plan(task, f"run:{first.id}", recipe=task.recipe.changed(lr=lr))


def weights(runner: Runner, fit: Fit) -> dict[str, bytes]:
    model = runner.folder(fit).model
    return {
        f"{file} {name}": tensor.numpy().tobytes()
        for file in ("head.safetensors", "tiny.safetensors")
        for name, tensor in load_file(model / file).items()
    }


def test_a_second_stage_starts_from_exact_first_stage_weights(tmp_path: Path) -> None:
    """A rate of zero leaves them as they were found."""
    runner = made(tmp_path)
    first = first_stage(runner)
    still = second_stage(runner, first, lr=0.0)
    record = runner.run(still)
    assert any("the head goes on" in note for note in record.notes)
    assert weights(runner, still) == weights(runner, first)
    moving = second_stage(runner, first)
    assert runner.run(moving).status == "done"
    assert weights(runner, moving).keys() == weights(runner, first).keys()
    assert (
        weights(runner, moving)["head.safetensors output.weight"]
        != weights(runner, first)["head.safetensors output.weight"]
    )


@pytest.mark.usefixtures("narrow_bilstm")
def test_a_head_of_another_method_stays_behind(tmp_path: Path) -> None:
    runner = made(tmp_path)
    first = first_stage(runner)
    task = runner.plugins.tasks.find(NAMES[1])
    fit = runner.planner.plan(task, f"run:{first.id}", method="finetune+bilstm", recipe=task.recipe.changed(epochs=1))
    assert not any("the head goes on" in note for note in runner.run(fit).notes)


SCRIPT = """
import sys
from pathlib import Path
from test_fitted_backbones import first_stage, made, second_stage

runner = made(Path(sys.argv[1]), die_at=12)
runner.run(second_stage(runner, first_stage(runner)))
"""


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Runner, Fit]:
    """A chain of two stages that nothing stopped, in a folder of its own."""
    runner = made(tmp_path_factory.mktemp("unbroken"))
    fit = second_stage(runner, first_stage(runner))
    assert runner.run(fit).status == "done"
    return runner, fit


def test_a_killed_second_stage_resumes_and_keeps_the_first(tmp_path: Path, unbroken: tuple[Runner, Fit]) -> None:
    path = os.pathsep.join(str(Path(file).parent) for file in (__file__, inline.__file__))
    done = forked.run(["-c", SCRIPT, str(tmp_path)], env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == -signal.SIGKILL, done.stderr
    runner = made(tmp_path)
    first = runner.planner.plan(runner.plugins.tasks.find(NAMES[0]), "words")
    folder = runner.folder(first).path
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    second = second_stage(runner, first_stage(runner))
    assert runner.folder(second).checkpoint.exists() and runner.folder(second).record() is None
    assert runner.run(second).status == "done"
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert weights(runner, second) == weights(*unbroken)
