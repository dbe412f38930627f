"""Where data was found, and what makes scores on it doubtful: in Python, and by the command `data`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchrunner import ACCURACY, Classify, RowsFrom, Split, Task, Workspace
from benchrunner.results import discover
from benchrunner_kinds import ClassifyWords
from benchrunner_tasks import data_checks
from command_line import Shell
from inline import mood, pairs


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)


def test_data_status_lists_found_and_missing_splits(shell: Shell) -> None:
    code, out, err = shell("data", "status", "mood", "pairs", "--data", "data")
    assert code == 0
    assert len([line for line in out.splitlines() if line.startswith("mine/mood") and "rows" in line]) == 3
    missing = [line for line in out.splitlines() if line.startswith("mine/pairs") and "not found" in line]
    assert [line.partition("not found: ")[2] for line in missing] == [
        f"no file data/pairs/{split}.tsv" for split in ("train", "dev", "test")
    ]
    assert err.startswith("Put the missing files below data, or run 'benchr")
    code, out, err = shell("data", "status", "pairs")
    assert out.count("not found: no data folder with pairs/") == len(out.splitlines()) == 3
    assert "Put the missing files below a folder, and give --data FOLDER" in err
    assert shell("data", "fetch", "pairs", "--data", "data")[0] == 1


def test_data_status_is_a_line_of_ready_tasks_and_one_of_others(shell: Shell) -> None:
    assert shell.done("data", "status", "--data", "data").splitlines() == [
        "ready: mine/mood",
        "not ready: 1 other tasks; 'benchrunner data status TASK' says why",
    ]
    file = Path("data/mood/dev.tsv")
    file.write_text(file.read_text().replace("glad", "gald"))
    code, out, _ = shell("data", "status", "--data", "data")
    assert code == 1 and out.startswith("ready: no task\nnot ready: 2 other") and "dev.tsv:" in out.splitlines()[2]


def test_data_status_hints_at_files_with_a_close_name(shell: Shell) -> None:
    for name in ("DEV.tsv", "validation.tsv"):
        Path("data/mood/dev.tsv").rename(f"data/mood/{name}")
        status = shell.done("data", "status", "mood", "--data", "data").splitlines()
        assert status[1].endswith(f"not found: no file data/mood/dev.tsv. Is it data/mood/{name}?")
        Path(f"data/mood/{name}").rename("data/mood/dev.tsv")
    Path("data/mood").rename("data/Mood")
    assert shell.done("data", "status", "mood", "--data", "data").count(" Is it data/Mood/") == 3


def test_data_status_looks_only_into_folders_that_tasks_name(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("data/mood/dev.tsv").unlink()
    Path("data/large").mkdir()
    listed = []
    for name in ("scandir", "listdir"):
        function = getattr(os, name)
        monkeypatch.setattr(os, name, lambda path=".", function=function: listed.append(str(path)) or function(path))
    assert "no file data/mood/dev.tsv" in shell.done("data", "status", "mood", "--data", "data")
    assert any(path.endswith("mood") for path in listed) and not any(path.endswith("large") for path in listed)


def test_python_gives_what_the_command_prints(shell: Shell) -> None:
    workspace = Workspace(Path("runs"), Path("cache"), Path("data"))
    splits = data_checks.data_status((mood(), pairs()), workspace)
    assert [split.rows for split in splits] == [48, 24, 20, None, None, None]
    printed = shell.json("data", "status", "--data", "data")
    assert [(split["rows"], split["sha256"], split["warnings"]) for split in printed] == [
        (split.rows, split.sha256, list(split.warnings)) for split in splits
    ]


def warnings(train: dict[str, Any], dev: dict[str, Any], problem: Any = None) -> list[str]:
    """What is said of the training rows and of dev."""
    splits = {"train": Split("train", (RowsFrom(lambda workspace: train),))}
    splits["dev"] = Split("dev", (RowsFrom(lambda workspace: dev),))
    task = Task("mine/pair", "", problem or Classify(("yes", "no")), splits, (ACCURACY,))
    statuses = data_checks.data_status([task], Workspace(Path("runs"), Path("cache")))
    assert not any(status.problem for status in statuses)
    return [fault for status in statuses for fault in status.faults]


TRAIN = {"a": ["One  text", "two", "one text", ""], "b": ["x", "y", "X", "z"], "label": ["yes", "no", "no", "no"]}


def test_rows_and_texts_that_stand_in_train_are_counted() -> None:
    dev = {
        "a": ["ＯＮＥ text", "two", "y", "", "new"],
        "b": ["x", "other", "q", "q", "q"],
        "label": ["yes"] + 4 * ["no"],
    }
    assert warnings(TRAIN, dev) == [
        "D3 2 of 4 rows of train stand there again with another label",
        "D1 1 of 5 rows of dev stand in train (0 letter by letter)",
        "D2 3 of 5 rows of dev share a text with train",
    ]


def test_labels_that_no_row_has_are_said() -> None:
    train = {"a": ["p", "q", "r"], "label": ["yes", "no", "maybe"]}
    said = warnings(train, {"a": ["s", "t"], "label": ["no", "no"]}, Classify(("yes", "no", "maybe")))
    assert said == ["D4 no row of dev has the label yes, maybe"]


def test_equal_texts_with_other_marks_are_other_rows() -> None:
    train = {"a": ["a b", "a b"], "marks": [[[0, 0, 1]], [[0, 2, 3]]], "label": ["yes", "no"]}
    dev = {"a": ["c d", "c e"], "marks": train["marks"], "label": ["yes", "no"]}
    assert warnings(train, dev, ClassifyWords(("yes", "no"), marks=1)) == []


def test_every_task_of_ours_says_its_language() -> None:
    assert [task.name for task in discover().tasks.values() if not task.language] == []


@pytest.mark.skipif("BENCHRUNNER_REAL_DATA" not in os.environ, reason="needs official data")
def test_the_overlaps_of_glue_are_those_that_are_known() -> None:
    data = Path(os.environ["BENCHRUNNER_REAL_DATA"])
    workspace = Workspace(Path("runs"), Path("cache"), data)
    workspace = replace(workspace, settings=replace(workspace.settings, offline=True))
    plugins = discover()
    tasks = [plugins.tasks.find(name) for name in ("glue/wnli", "glue/rte", "glue/stsb")]
    dev = [status.warnings for status in data_checks.data_status(tasks, workspace) if status.split == "dev"]
    assert dev == [
        ("65 of 71 rows of dev share a text with train",),
        ("104 of 277 rows of dev share a text with train (103 letter by letter)",),
        ("6 of 1,500 rows of dev stand in train", "252 of 1,500 rows of dev share a text with train"),
    ]
