"""What the commands `submit`, `check` and `audit` write and find is what Python does."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchrunner import Workspace
from benchrunner.engine import decoding
from benchrunner.results import Computing, Runner, StudyOptions
from benchrunner_answers.audit import audit_files, question_of_task
from benchrunner_submit import check_submission, write_submission
from command_line import Shell


def runner(shell: Shell) -> Runner:
    """A runner on the shell's data, with runs of its own: nothing that a command has computed is read."""
    workspace = Workspace.from_environment(data=shell.folder / "data", runs=shell.folder / "python")
    return Runner(shell.plugins, workspace, Computing("cpu"))


def manifest(path: Path) -> Any:
    """The content of a submission's manifest without the time at which it was written."""
    content = json.loads(path.read_text())
    del content["date"]
    return content


def same_json(value: Any) -> Any:
    """The value as a reader of JSON gets it."""
    return json.loads(json.dumps(decoding.as_json(value)))


def test_submit_writes_what_python_writes(shell: Shell) -> None:
    words = ("--lr", "1e-2", *shell.folders(), "--device", "cpu", "--quiet", "--out", "command.zip")
    code, out, _ = shell("submit", "moods", "--backbone", "words", *words)
    board, options = shell.plugins.leaderboards.find("moods"), StudyOptions(recipe={"lr": 1e-2})
    submission = write_submission(board, Path("python.zip"), runner(shell), backbone="words", options=options)
    assert (code, submission.faults) == (0, ())
    assert Path("python.zip").read_bytes() == Path("command.zip").read_bytes()
    assert manifest(Path("python.zip.json")) == manifest(Path("command.zip.json"))
    assert f"The leaderboard: {board.url}\n" in out and submission.board.name == board.name


@pytest.mark.parametrize("way", ["fill", "partial"])
def test_a_submission_with_gaps_is_that_of_python(way: str, shell: Shell) -> None:
    given = ["--fill", "majority"] if way == "fill" else ["--partial"]
    words = (*given, *shell.folders(), "--quiet", "--out", "command.zip", "--json")
    printed = shell.json("submit", "wide", "--backbone", "words", *words[:-1])
    board = shell.plugins.leaderboards.find("wide")
    submission = write_submission(board, Path("python.zip"), runner(shell), backbone="words", **{way: True})
    assert manifest(Path("python.zip.json")) == manifest(Path("command.zip.json"))
    assert printed.pop("manifest") | {"date": ""} == same_json(submission)["manifest"] | {"date": ""}
    assert printed["faults"] == list(submission.faults) == []


def test_check_finds_what_python_finds(shell: Shell) -> None:
    Path("moods.tsv").write_text("id\tmood\n0\t1\n1\tglad\n")
    code, out, _ = shell("check", "moods.tsv")
    checked = check_submission(Path("moods.tsv"), shell.plugins)
    assert code == 1 and len(checked.faults) > 1
    assert out.splitlines()[:-1] == list(checked.faults)
    code, out_json, _ = shell("check", "moods.tsv", "--json")
    assert (code, json.loads(out_json)) == (1, same_json(checked))
    assert out.endswith(f"{len(checked.faults)} problems; {checked.board.name} would not accept it as meant.\n")


def test_audit_prints_the_scores_that_python_computes(shell: Shell) -> None:
    Path("answers.txt").write_text("glad\n" * 24)
    task = shell.plugins.tasks.find("mood")
    [scored] = audit_files([Path("answers.txt")], question_of_task(task, None, runner(shell)))
    (printed,) = shell.json("audit", "answers.txt", "--task", "mood", "--data", "data")["files"]
    assert printed["scores"] == same_json(scored.scores)
    asked = question_of_task(task, None, runner(shell), gold=Path("data/mood/dev.tsv"))
    [by_gold] = audit_files([Path("answers.txt")], asked)
    out = shell.done("audit", "answers.txt", "--task", "mood", "--gold", "data/mood/dev.tsv")
    assert out == f"{by_gold.text}\nflags: C1 constant predictions\n"
