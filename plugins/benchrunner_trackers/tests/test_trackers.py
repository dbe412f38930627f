"""Curves, parameters and scores reach the trackers, each read back from its files by a reader that is not ours."""

from __future__ import annotations

import importlib.util
import json
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import benchrunner_trackers
from benchrunner.command_line.main import main
from benchrunner.results import Computing, Event, Fit, Runner, compared, discover, predict, run_study
from benchrunner.studies.cells import Fitting
from benchrunner_trackers.observer import observer
from benchrunner_trackers.settings import TRACKERS
from benchrunner_trackers.tracker import run_name
from inline import QUICK, own, runner as inline_runner

pytestmark = pytest.mark.filterwarnings("default")  # the trackers' libraries warn about themselves
STEPS = [10, 20, 30, 36]
"""The steps with figures of a fit of 36 steps."""

Curves = dict[str, list[tuple[int, float]]]
"""Name of a curve -> its points (step, value), in the order of the steps."""


def needs(library: str) -> pytest.MarkDecorator:
    reason = f"{library} is not installed: pip install 'benchrunner[trackers]'"
    return pytest.mark.skipif(importlib.util.find_spec(library) is None, reason=reason)


@pytest.fixture(scope="module")
def trackers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for the whole module: trackio reads its folder's name only when it is imported."""
    return tmp_path_factory.mktemp("trackers")


@pytest.fixture
def tracked(tmp_path: Path, trackers: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Runner]]:
    """Make runners whose fits are tracked."""

    def make(names: str) -> Runner:
        monkeypatch.setenv("BENCHRUNNER_TRACKERS", names)
        monkeypatch.setenv("BENCHRUNNER_TRACKERS_DIR", str(trackers))
        monkeypatch.setenv("BENCHRUNNER_TRACKERS_PROJECT", f"project-{tmp_path.name}")
        plugins = discover(extra=[("own", own()), ("trackers", benchrunner_trackers)], installed=False)
        assert not plugins.set_aside
        return Runner(plugins, inline_runner(tmp_path).workspace, Computing("cpu", checkpoint_seconds=0))

    observer.cache_clear()
    yield make
    observer.cache_clear()


def plan(runner: Runner) -> Fit:
    return runner.planner.plan(runner.plugins.tasks.find("mood"), "words", recipe=QUICK.changed(epochs=6), seed=3)


def killed_and_resumed(runner: Runner, fit: Fit) -> None:
    """Interrupt the fit at step 25, let it go on from step 12, and predict dev."""
    checkpoint = runner.folder(fit).checkpoint
    saved = runner.workspace.cache / "saved"

    def report(_: Fit, event: Event) -> None:
        if event.kind == "step" and event.done == 12:
            shutil.copytree(checkpoint, saved)
        if event.kind == "step" and event.done == 25:
            signal.raise_signal(signal.SIGINT)

    with runner.observers.reporting_to(report), pytest.raises(KeyboardInterrupt):
        runner.run(fit)
    shutil.rmtree(checkpoint)
    shutil.copytree(saved, checkpoint)
    observer.cache_clear()  # a new process has no open runs
    assert runner.run(fit).status == "done"
    predict(fit, "dev", runner)


def tensorboard_curves(folder: Path, runner: Runner, fit: Fit) -> tuple[Curves, dict[str, str]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    [home] = (folder / "tensorboard" / "mine" / "mood" / "words").glob(f"lr0.02-seed3-{fit.id}")
    events = EventAccumulator(str(home)).Reload()
    curves: Curves = {}
    for tag in events.Tags()["scalars"]:
        curves[tag] = [(event.step, event.value) for event in events.Scalars(tag)]
    [text] = [events.Tensors(tag) for tag in events.Tags()["tensors"]]
    assert len(text) == 1
    rows = [line.strip("| ").split(" | ") for line in text[0].tensor_proto.string_val[0].decode().splitlines()[2:]]
    return curves, dict(rows)


def mlflow_curves(folder: Path, runner: Runner, fit: Fit) -> tuple[Curves, dict[str, str]]:
    [tag] = (folder / "mlflow").glob("*/*/tags/benchrunner.fit")
    home = tag.parents[1]
    assert tag.read_text() == fit.id and (home / "tags" / "mlflow.runName").read_text() == run_name(fit)
    curves: Curves = {}
    for file in (home / "metrics").rglob("*"):
        if file.is_file():
            lines = [line.split() for line in file.read_text().splitlines()]
            curves[file.relative_to(home / "metrics").as_posix()] = [(int(line[2]), float(line[1])) for line in lines]
    return curves, {file.name: file.read_text() for file in (home / "params").iterdir()}


def trackio_curves(folder: Path, runner: Runner, fit: Fit) -> tuple[Curves, dict[str, str]]:
    [file] = (folder / "trackio").glob("project-*.db")
    with sqlite3.connect(file) as database:
        rows = database.execute("SELECT run_name, step, metrics FROM metrics ORDER BY step, id").fetchall()
        configs = database.execute("SELECT run_name, config FROM configs").fetchall()
    curves: Curves = {}
    for name, step, metrics in rows:
        assert name == run_name(fit)
        for key, value in json.loads(metrics).items():
            curves.setdefault(key, []).append((step, value))
    return curves, {key: str(value) for key, value in json.loads(configs[0][1]).items()}


@pytest.mark.parametrize(
    ("tracker", "read"),
    [
        pytest.param("tensorboard", tensorboard_curves, marks=needs("tensorboard")),
        pytest.param("mlflow", mlflow_curves, marks=needs("mlflow")),
        pytest.param("trackio", trackio_curves, marks=needs("trackio")),
    ],
)
def test_a_killed_fit_goes_on_with_its_curve(
    tracker: str,
    read: Callable[[Path, Runner, Fit], tuple[Curves, dict[str, str]]],
    tracked: Callable[[str], Runner],
    trackers: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    runner = tracked(tracker)
    fit = plan(runner)
    killed_and_resumed(runner, fit)
    curves, parameters = read(trackers, runner, fit)
    log = [json.loads(line) for line in runner.folder(fit).log.read_text().splitlines()]
    assert [line["step"] for line in log] == STEPS
    for name in ("loss", "lr"):
        steps, values = zip(*curves[f"train/{name}"], strict=True)
        assert list(steps) == STEPS, f"{name} is there once for each step"
        assert list(values) == pytest.approx([line[name] for line in log], rel=1e-6)
    assert [step for step, speed in curves["train/examples_per_second"] if speed > 0] == STEPS
    scores = predict(fit, "dev", runner).record.scores
    for name, score in scores.items():
        assert curves[f"dev/{name}"] == [(36, pytest.approx(score.value, rel=1e-6))]
    expected = {"task": "mine/mood", "backbone": "words", "method": "finetune", "seed": "3", "fit": fit.id}
    assert parameters.items() >= {**expected, "lr": "0.02"}.items()
    told = capsys.readouterr()
    assert told.out == "" and "The observer" not in told.err


@needs("wandb")
def test_wandb_keeps_offline_runs(
    tracked: Callable[[str], Runner], trackers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runner = tracked("wandb")
    fit = plan(runner)
    runner.run(fit)
    predict(fit, "dev", runner)
    assert "The observer" not in capsys.readouterr().err
    [file] = (trackers / "wandb").rglob(f"*{fit.id}.wandb")
    deadline = time.monotonic() + 60
    while b"dev/accuracy" not in file.read_bytes() and time.monotonic() < deadline:
        time.sleep(0.1)  # a process of wandb's own writes the file
    assert b"dev/accuracy" in (content := file.read_bytes()) and b"train/loss" in content


@needs("tensorboard")
@needs("mlflow")
def test_a_study_is_tracked_by_several_trackers(
    tracked: Callable[[str], Runner], trackers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runner = tracked("tensorboard, mlflow")
    study = compared(("words",), (runner.plugins.tasks.find("mood"),), Fitting(seeds=(0, 1), changes={"epochs": 2}))
    fits = run_study(study, runner).cells[0].cell.fits
    for fit in fits:
        assert list(trackers.glob(f"tensorboard/mine/mood/words/*-{fit.id}/events*"))
        assert [file for file in trackers.glob("mlflow/*/*/tags/benchrunner.fit") if file.read_text() == fit.id]
    assert len(list(trackers.glob("tensorboard/mine/mood/*"))) == 1, "the majority baseline has no curve"
    assert "The observer" not in capsys.readouterr().err


def test_without_a_choice_nothing_is_loaded_or_written(tracked: Callable[[str], Runner], trackers: Path) -> None:
    before = sorted(trackers.rglob("*"))
    runner = tracked("")
    modules = set(sys.modules)
    runner.run(plan(runner))
    assert sorted(trackers.rglob("*")) == before
    assert not {name.split(".")[0] for name in set(sys.modules) - modules} & set(TRACKERS)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("tensorbord", "There is no tracker 'tensorbord'. Did you mean tensorboard? BENCHRUNNER_TRACKERS names the "),
        ("trackio", "The tracker 'trackio' cannot be used (import of trackio halted; None in sys.modules): pip"),
    ],
)
def test_a_tracker_that_cannot_be_used_ends_the_command(
    name: str,
    reason: str,
    tracked: Callable[[str], Runner],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "trackio", None)
    runner = tracked(name)
    assert main(words(runner), plugins=runner.plugins) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.startswith(f"benchrunner: {reason}") and printed.err.count("\n") == 1
    assert not runner.workspace.runs.exists(), "nothing was fitted or kept"


def test_a_file_in_place_of_the_folder_ends_the_command(
    tracked: Callable[[str], Runner],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    runner = tracked("tensorboard")
    file = tmp_path / "trackers"
    file.write_text("")
    monkeypatch.setenv("BENCHRUNNER_TRACKERS_DIR", str(file))
    assert main(words(runner), plugins=runner.plugins) == 2
    message = f"BENCHRUNNER_TRACKERS_DIR: {file} is a file, and trackers need a folder."
    assert capsys.readouterr().err == f"benchrunner: {message}\n"
    assert not runner.workspace.runs.exists()


def words(runner: Runner) -> list[str]:
    places = ["--data", str(runner.workspace.data), "--runs", str(runner.workspace.runs)]
    return ["compare", "words", "--tasks", "mood", "--device", "cpu", "--quiet", *places]
