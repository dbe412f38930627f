"""A fit runs on another machine by its order alone, and gives the same bits."""

import dataclasses
import errno
import os
import pickle
import platform
import shutil
from pathlib import Path
from typing import Any

import pytest

from benchrunner import FitError, RequestError
from benchrunner.engine import Method, Outcome
from benchrunner.results import Fit, FitAnswer, Record, Runner, predict
from benchrunner_clusters import RemoteAnswer, RemoteOrder
from benchrunner_clusters.remote_orders import packed
from inline import QUICK, runner


def answer_to(made: Runner, fit: Fit, **changes: Any) -> RemoteAnswer:
    """Make an order, and run it as the worker does that gets it."""
    import torch

    settings: dict[str, Any] = {"cores": torch.get_num_threads(), "gpus": 0, "files": "shared", "mark": "", **changes}
    order: RemoteOrder = pickle.loads(pickle.dumps(RemoteOrder.of(fit, made.fit_runner, **settings)))
    return order.run(lambda fit, event: None, made.plugins)


def marked(made: Runner) -> str:
    """Put a mark into the runs folder."""
    made.workspace.runs.mkdir()
    (made.workspace.runs / ".seen.mark").touch()
    return ".seen.mark"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "node"))
    monkeypatch.chdir(tmp_path)
    return runner(tmp_path)


@pytest.fixture
def fit(made: Runner) -> Fit:
    return made.planner.plan(made.plugins.tasks.find("mood"), "words", recipe=QUICK.changed(epochs=1))


def test_a_worker_writes_a_fit_and_its_dev_predictions(made: Runner, fit: Fit) -> None:
    assert made.folder(fit).finished_record() is None
    answer = answer_to(made, fit, mark=marked(made))
    record = answer.record_in(made.workspace.runs)
    assert record == made.folder(fit).record() == made.folder(fit).finished_record() and record.status == "done"
    assert answer.files is None
    assert len(list(made.folder(fit).path.glob("predictions/*/record.json"))) == 1


def test_returned_files_are_those_of_a_local_fit(made: Runner, fit: Fit, tmp_path: Path) -> None:
    made.run(fit)
    predict(fit, "dev", made)
    local = packed(made.folder(fit).path)
    shutil.rmtree(made.workspace.runs)
    answer = answer_to(made, fit, files="returned")
    assert not made.folder(fit).path.exists() and not (tmp_path / "node" / "runs" / fit.id).exists()
    assert answer.record_in(made.workspace.runs) == made.folder(fit).finished_record()
    returned = packed(made.folder(fit).path)
    assert returned.keys() == local.keys()
    different = {name for name in local if returned[name] != local[name]}
    assert {name.rpartition("/")[2] for name in different} <= {"record.json"}, "records have timings"
    answer.record_in(made.workspace.runs)  # a finished fit is left as it is
    assert predict(fit, "dev", made).record.status == "done"


def test_a_worker_decides_by_the_mark_where_files_go(made: Runner, fit: Fit) -> None:
    unseen = answer_to(made, fit, files="auto", mark="elsewhere")
    assert unseen.files is not None and not made.workspace.runs.exists()
    assert answer_to(made, fit, files="auto", mark=marked(made)).files is None
    assert made.folder(fit).finished_record() is not None


def test_a_runs_folder_that_is_not_shared_is_refused(made: Runner, fit: Fit) -> None:
    answer = answer_to(made, fit, mark="elsewhere")
    with pytest.raises(RequestError, match=r"runs is another one than that of the command, or is not there\. Give --r"):
        answer.record_in(made.workspace.runs)
    chained = dataclasses.replace(fit, backbone="run:0123")
    with pytest.raises(RequestError, match="run:0123 is a finished fit, which a worker reads in the runs folder, but"):
        answer_to(made, chained, files="returned").record_in(made.workspace.runs)


def test_missing_data_are_named(made: Runner, fit: Fit, tmp_path: Path) -> None:
    (tmp_path / "data").rename(tmp_path / "moved")
    with pytest.raises(RequestError, match=r"The data folder .*/data does not exist\. Put the data there on every"):
        answer_to(made, fit).record_in(made.workspace.runs)


def test_an_error_of_another_machine_names_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(platform, "node", lambda: "head")
    for host, text in (("node7", "On node7: no data"), ("head", "no data"), ("", "no data")):
        with pytest.raises(RequestError) as raised:
            RemoteAnswer(FitAnswer(error=RequestError("no data")), host).record_in(tmp_path)
        assert str(raised.value) == text
    with pytest.raises(OSError, match=r"disk full \(on node7\): '/x'") as full:
        RemoteAnswer(FitAnswer(error=OSError(errno.ENOSPC, "disk full", "/x")), "node7").record_in(tmp_path)
    assert full.value.errno == errno.ENOSPC


class Broken(Method):
    name = "broken"
    about = "fails, or cannot write"
    needs_backbone = False

    def fit(self, job: Any) -> Outcome:
        raise ValueError("not today")

    def predict(self, job: Any, table: Any) -> Any:
        raise NotImplementedError


def test_a_fit_that_fails_comes_back_as_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "node"))
    made = runner(tmp_path, register_methods=[Broken()])
    fit = made.planner.plan(made.plugins.tasks.find("mood"), "", method="broken")
    record = answer_to(made, fit, files="returned").record_in(made.workspace.runs)
    trace = made.folder(fit).path / "traceback.txt"
    assert record.status == "failed" and record.reason.startswith("ValueError: not today (")
    assert f" (see {trace})" in record.reason and trace.is_file()
    assert made.folder(fit).finished_record() is None


def test_a_worker_takes_threads_environment_and_folder(
    made: Runner, fit: Fit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import torch

    monkeypatch.setenv("BENCHRUNNER_COLOUR", "green")
    monkeypatch.setenv("RAYON_NUM_THREADS", "")
    monkeypatch.delenv("RAYON_NUM_THREADS")
    order = RemoteOrder.of(fit, made.fit_runner, cores=2, gpus=0, files="shared", mark="")
    monkeypatch.setenv("BENCHRUNNER_COLOUR", "red")
    monkeypatch.chdir("/")
    before = torch.get_num_threads()
    try:
        record = order.run(lambda fit, event: None, made.plugins).record_in(made.workspace.runs)
    finally:
        torch.set_num_threads(before)
    assert record.numerics["threads"] in (2, [2]) and record.numerics["denormals"] == "flushed"
    assert os.environ["BENCHRUNNER_COLOUR"] == "green" and Path.cwd() == tmp_path
    assert os.environ["RAYON_NUM_THREADS"] == "2", "tokenizers would start a thread for each core"


def test_a_file_outside_of_the_run_is_refused(tmp_path: Path) -> None:
    for name in ("../other/record.json", "/etc/passwd"):
        answer = RemoteAnswer(FitAnswer(Record("ab", "done")), files={name: b""})
        with pytest.raises(FitError, match="which is outside of it"):
            answer.record_in(tmp_path)
