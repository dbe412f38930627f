"""The inventory of a runs folder: summaries, details, and the time that thousands of runs take."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchrunner import Recipe, UnknownName
from benchrunner.io.json_form import as_json
from benchrunner.io.locks import held
from benchrunner_runs.details import run_details
from benchrunner_runs.sizes import size_of, size_text
from benchrunner_runs.summaries import RunSummary, list_runs, recipe_text, sorted_runs, with_words
from inline import plugins
from made_runs import made_run


def listed(runs: Path) -> list[RunSummary]:
    return list_runs(runs, plugins(register_backbones=[]))[0]


def test_a_run_is_summed_up_with_its_headline_on_dev(tmp_path: Path) -> None:
    run = made_run(tmp_path, score=0.75, seed=3, recipe=Recipe(lr=3e-5, max_length=64, limit_train=100))
    (summary,) = listed(tmp_path)
    assert (summary.id, summary.task, summary.backbone, summary.status) == (run, "mine/mood", "words", "done")
    assert (summary.metric, summary.split, summary.score, summary.seconds) == ("accuracy", "dev", 0.75, 13.0)
    assert summary.recipe == {"lr": 3e-5, "max_length": 64, "limit_train": 100}
    assert recipe_text(summary) == "lr 3e-05, 3 ep, batch 32, seed 3, max_length 64, limit_train 100"
    assert summary.date == "2020-09-13T12:26:40+00:00"
    assert recipe_text(replace(summary, method="majority")) == "majority"


def test_sizes_are_those_of_the_files(tmp_path: Path) -> None:
    run = tmp_path / made_run(tmp_path, weights=12345)
    assert size_of(run) == sum(path.stat().st_size for path in run.rglob("*") if path.is_file()) > 12345


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (12_345, "12 kB"), (999_600, "1.0 MB"), (4.4e8, "440 MB")],
)
def test_sizes_are_written_with_few_digits(size: float, text: str) -> None:
    assert size_text(int(size)) == text


def test_statuses_tell_running_from_stopped(tmp_path: Path) -> None:
    statuses = {
        made_run(tmp_path, status=status, seed=seed, score=None): status
        for seed, status in enumerate(("failed", "diverged"))
    }
    stopped, running = made_run(tmp_path, status=None, seed=8), made_run(tmp_path, status=None, seed=9)
    with held(tmp_path / running, lambda: None):
        found = {summary.id: summary.status for summary in listed(tmp_path)}
    assert found == {**statuses, stopped: "unfinished", running: "running"}


def test_damaged_and_foreign_folders_are_one_note_each(tmp_path: Path) -> None:
    whole = made_run(tmp_path)
    for number, text in enumerate(("", "[]", "{}", '{"task": 3}')):
        (tmp_path / f"damaged{number}").mkdir()
        (tmp_path / f"damaged{number}" / "fit.json").write_text(text)
    for name in ("mine", "photos", "music", "papers", "studies", "pretrained", ".hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "a file").touch()
    summaries, notes = list_runs(tmp_path, plugins(register_backbones=[]))
    assert [summary.id for summary in summaries] == [whole]
    assert len(notes) == 5
    assert notes[-1] == "no runs, and left out: mine, music, papers and 1 more"
    assert all("damaged and left out" in note for note in notes[:4])


def test_a_folder_that_does_not_exist_has_no_runs(tmp_path: Path) -> None:
    assert list_runs(tmp_path / "none", plugins(register_backbones=[])) == ([], [])


def test_a_run_of_a_task_that_is_not_installed_is_listed(tmp_path: Path) -> None:
    made_run(tmp_path, task="theirs/other", score=0.25)
    (summary,) = listed(tmp_path)
    assert (summary.task, summary.metric, summary.score) == ("theirs/other", "accuracy", 0.25)


def test_runs_are_chosen_by_words_of_their_line(tmp_path: Path) -> None:
    first = made_run(tmp_path, backbone="/models/bert")
    second = made_run(tmp_path, revision="2", backbone="tiny/words", status="failed", score=None)
    for words, chosen in ((["bert"], [first]), (["MOOD", "failed"], [second]), (["mood", "bert", "failed"], [])):
        assert [run.id for run in with_words(listed(tmp_path), words)] == chosen


def test_runs_are_sorted_by_what_is_asked(tmp_path: Path) -> None:
    names = {
        made_run(tmp_path, seed=0, score=0.5, minute=2, weights=10): "a",
        made_run(tmp_path, seed=1, score=0.9, minute=1, weights=3000): "b",
        made_run(tmp_path, seed=2, score=None, minute=3, weights=200, task="mine/a"): "c",
    }
    runs = listed(tmp_path)
    for by, order in (("date", "cab"), ("score", "bac"), ("task", "cab")):
        assert "".join(names[run.id] for run in sorted_runs(runs, by)) == order
    assert names[sorted_runs(runs, "size")[0].id] == "b"
    with pytest.raises(UnknownName, match=r"There is no order 'dat' of runs. Did you mean date"):
        sorted_runs(runs, "dat")


def test_a_folder_that_holds_runs_is_no_run(tmp_path: Path) -> None:
    """A user names the folder above the runs folder."""
    made_run(tmp_path / "runs")
    summaries, notes = list_runs(tmp_path, plugins(register_backbones=[]))
    assert (summaries, notes) == ([], ["no runs, and left out: runs"])


def test_details_name_everything_in_the_folder(tmp_path: Path) -> None:
    run = made_run(tmp_path, score=0.75)
    details = run_details(tmp_path, run[:6])
    assert details.record is not None and details.record.numerics == {"device": "cpu", "threads": 1}
    assert [(prediction.split, list(record.scores)) for prediction, record in details.predictions] == [
        ("dev", ["accuracy", "matthews"]),
        ("test", []),
    ]
    assert json.loads(json.dumps(as_json(details)))["fit"]["task"] == "mine/mood"


def test_listing_loads_no_heavy_library(tmp_path: Path) -> None:
    made_run(tmp_path)
    code = "import sys; from benchrunner.command_line.main import main; main(['runs', '--runs', sys.argv[1]])"
    code += "; print(sorted({'torch', 'numpy', 'pyarrow', 'pandas', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_a_thousand_runs_are_listed_within_two_seconds(tmp_path: Path) -> None:
    """CPU time of the whole command in a process of its own; the best of three, since other processes share caches.

    The first process compiles the modules for the others.
    """
    for seed in range(1000):
        made_run(tmp_path / "runs", seed=seed)
    code = "import sys, time; from benchrunner.command_line.main import main; main(['runs', '--runs', sys.argv[1]])"
    code += "; print(time.process_time(), file=sys.stderr)"
    command, seconds = [sys.executable, "-c", code, str(tmp_path / "runs")], []
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path / "compiled")}
    for _ in range(3):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert "1,000 run(s) in " in done.stdout
        seconds.append(float(done.stderr))
        time.sleep(0.1)
    assert min(seconds) < 2.0, seconds
