"""From a fit to its record: run once, tried again, fitted again where weights are gone, never under another name."""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forked
import inline
from benchrunner import Classify, Metric, Workspace
from benchrunner.engine import Job, Method, Outcome
from benchrunner.errors import FitError, RequestError
from benchrunner.results import Computing, Runner
from benchrunner.runs.predicting import predict
from inline import QUICK, files, mood, own_and, runner
from moody import Moody, fine_tuned, with_method


def test_a_finished_fit_is_read_and_not_run_again(tmp_path: Path) -> None:
    made, fit = with_method(tmp_path, method := Moody())
    assert made.run(fit) == made.run(fit) == with_method(tmp_path, Moody())[0].run(fit)
    assert method.fitted == 1


def test_a_diverged_fit_is_not_run_again_and_has_no_answers(tmp_path: Path) -> None:
    made, fit = with_method(tmp_path, method := Moody([Outcome("diverged", "the loss was nan")]))
    assert [made.run(fit).status for _ in range(2)] == ["diverged"] * 2
    assert method.fitted == 1
    with pytest.raises(FitError, match="has no answers: the loss was nan"):
        predict(fit, "dev", made)


def test_a_failed_fit_says_why_and_is_tried_again(tmp_path: Path) -> None:
    made, fit = with_method(tmp_path, method := Moody([ValueError("not today"), FitError("out of memory")]))
    record, place = made.run(fit), made.folder(fit).path / "traceback.txt"
    assert record.status == "failed" and "Traceback" in place.read_text()
    assert re.fullmatch(rf"ValueError: not today \(\S+moody\.py:\d+\) \(see {place}\)", record.reason)
    assert made.run(fit).reason == "out of memory"
    assert made.run(fit).status == "done" and not place.exists()
    assert method.fitted == 3


def test_only_a_finished_fit_loses_its_checkpoint(tmp_path: Path) -> None:
    """A process may be killed after it wrote the record, and before it removed the checkpoint."""
    made, fit = with_method(tmp_path, Moody())
    made.run(fit)
    folder = made.folder(fit)
    folder.checkpoint.mkdir()
    predict(fit, "dev", made)
    assert not folder.checkpoint.exists()
    folder.checkpoint.mkdir()
    (folder.path / "record.json").unlink()
    folder.sweep()
    assert folder.checkpoint.exists()


def test_deleted_weights_are_refitted_identically_when_needed(tmp_path: Path) -> None:
    made = runner(tmp_path)
    fit = fine_tuned(made)
    weights = (made.folder(fit).model / "tiny.safetensors").read_bytes()
    dev = predict(fit, "dev", made)
    made.forget_weights(fit)
    assert made.run(fit).status == "done" and not made.folder(fit).model.exists()
    assert predict(fit, "dev", made) == dev, "what is predicted needs no weights"
    assert not made.folder(fit).model.exists()
    predict(fit, "test", made)
    assert (made.folder(fit).model / "tiny.safetensors").read_bytes() == weights


def test_a_fit_of_other_code_is_not_run_under_its_name(tmp_path: Path) -> None:
    made = runner(tmp_path)
    fit = made.planner.plan(made.plugins.tasks.find("mood"), "words", recipe=QUICK)
    older = replace(fit, suppliers={**fit.suppliers, "core (benchrunner)": "0.0.1"})
    with pytest.raises(RequestError, match=rf"The code of the fit {older.id} .* changed .*'0.0.1'.* to .*'source"):
        made.run(older)
    assert made.folder(older).record() is None


def test_equal_ids_need_equal_problem_method_and_metric(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Weighted(Classify):  # type: ignore[misc]
        weight: float = 1.0
        shown: str = ""
        decoding_fields = ("shown",)

    @dataclass(frozen=True)
    class Constant(Method):
        name: str = "moody"
        about: str = "for tests"
        needs_backbone: bool = False
        label: int = 0

        def fit(self, job: Job) -> Outcome:
            job.model.mkdir(parents=True)
            return Outcome()

        def predict(self, job: Job, table: Any) -> np.ndarray:
            return np.tile([1.0, 0.0], (table.num_rows, 1))

    def beta(value: float) -> Metric:
        return Metric("beta", lambda gold, predicted: value)

    def ids(problem: Any, method: Method, metric: Metric) -> tuple[str, str]:
        task = mood(problem=problem, metrics=(metric,), method="moody")
        made = runner(tmp_path, register_tasks=[task], register_methods=[method])
        fit = made.planner.plan(task, "")
        return fit.id, predict(fit, "dev", made).record.id

    labels = ("glad", "sad")
    usual = ids(Weighted(labels), Constant(), beta(1))
    assert usual == ids(Weighted(labels), Constant(), beta(1))
    for problem, method in ((Weighted(labels, weight=2.0), Constant()), (Weighted(labels), Constant(label=1))):
        assert ids(problem, method, beta(1))[0] != usual[0]
    for problem, metric in ((Weighted(labels, shown="yes"), beta(1)), (Weighted(labels), beta(2))):
        fit, prediction = ids(problem, Constant(), metric)
        assert fit == usual[0] and prediction != usual[1]


def test_a_fit_of_another_problem_is_not_run_under_its_name(tmp_path: Path) -> None:
    made = runner(tmp_path)
    fit = made.planner.plan(made.plugins.tasks.find("mood"), "", method="majority")
    changed = mood(problem=Classify(("glad", "sad", "calm")))
    other = runner(tmp_path, register_tasks=[changed], register_leaderboards=[])
    with pytest.raises(RequestError, match=r"The problem of the fit .* changed since it was planned: from"):
        other.run(fit)


def test_an_unusable_device_is_refused_before_recording_anything(tmp_path: Path) -> None:
    files(1, tmp_path / "data")
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", data=tmp_path / "data")
    made = Runner(own_and(), workspace, Computing("nonsense"))
    fit = made.planner.plan(made.plugins.tasks.find("mood"), "words", recipe=QUICK)
    with pytest.raises(RequestError, match="Device 'nonsense' cannot be used"):
        made.run(fit)
    assert made.folder(fit).record() is None


TWO = """
import os, sys, time
from pathlib import Path
from benchrunner import Workspace
from benchrunner.engine import Outcome
from benchrunner.results import Runner, predict
from benchrunner.methods.majority import Majority
from inline import plugins

home = Path(sys.argv[1])

def wait_for(name):
    while not (home / name).exists():
        time.sleep(0.01)

def report(fit, event):
    print(event.kind, flush=True)
    (home / event.kind).touch()

class Slow(Majority.__base__):
    name, about, needs_backbone = "slow", "for a test", False
    predict = Majority.predict

    def fit(self, job):
        print("fitting", flush=True)
        wait_for("waiting")  # until the other process waits for this fit
        return Majority.fit(self, job)

workspace = Workspace(home / "runs", home / "cache", data=home / "data")
made = Runner(plugins(register_backbones=[], register_methods=[Slow()]), workspace, report=report)
fit = made.planner.plan(made.plugins.tasks.find("mood"), "", method="slow")
print(made.run(fit).status, predict(fit, "dev", made).answers[0], flush=True)
"""


def test_two_processes_wanting_one_fit_run_it_once(tmp_path: Path) -> None:
    files(1, tmp_path / "data")
    path = {**os.environ, "PYTHONPATH": str(Path(inline.__file__).parent)}
    processes = [forked.Process(["-c", TWO, str(tmp_path)], env=path) for _ in range(2)]
    outputs = [process.communicate()[0].split() for process in processes]
    assert sorted(output[0] for output in outputs) == ["fitting", "waiting"]
    assert [output.count("fitting") for output in sorted(outputs)] == [1, 0]
    # either may also wait for a prediction that the other makes
    assert [output[-2:] for output in outputs] == [["done", "sad"]] * 2


def test_the_cost_of_a_fit_counts_what_it_learns(tmp_path: Path) -> None:
    """A fit that goes on from a shorter one takes the rest of the steps; the fits of folds leave rows out."""
    planner = runner(tmp_path).planner
    short, long = (planner.plan(mood(), "words", recipe=QUICK.changed(epochs=epochs)) for epochs in (1, 4))
    costs = [planner.cost(short), planner.cost(long), planner.cost(long, short)]
    first = costs[0].flops
    assert first > 0 and [cost.flops for cost in costs] == [first, 4 * first, 3 * first]
    folded = planner.plan(planner.plugins.tasks.find("mood@5"), "words", recipe=QUICK.changed(epochs=1))
    assert planner.cost(folded).flops == pytest.approx(4 * first)
    assert planner.cost(planner.plan(mood(), "", method="majority")).flops == 0
