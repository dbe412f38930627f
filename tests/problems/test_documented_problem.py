"""The kind of question in docs/plugins/problems.md works as it stands there."""

import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchrunner.workspace import Settings, Workspace
from benchrunner_kit.testing import check_task
from command_line import CommandLine
from distributions import ROOT
from documents import blocks
from inline import plugins

WORDS = {"bad": "rainy", "fair": "plain", "good": "sunny"}


def documented() -> ModuleType:
    """The plugin of the page as a module."""
    (code,) = [
        code for code in blocks("python", ROOT / "docs" / "plugins" / "problems.md") if "(SentenceProblem)" in code
    ]
    module = ModuleType("reviews")
    exec(compile(code, "docs/plugins/problems.md", "exec", dont_inherit=True), module.__dict__)
    return module


def write_files(folder: Path) -> None:
    (folder / "reviews").mkdir(parents=True)
    draw = random.Random(0)
    for role, count in (("train", 96), ("dev", 24), ("test", 6)):
        levels = draw.choices(list(WORDS), k=count)
        rows = [f"a {WORDS[level]} day" + f"\t{level}" * (role != "test") for level in levels]
        lines = ["text" + "\tlevel" * (role != "test"), *rows]
        (folder / "reviews" / f"{role}.tsv").write_text("\n".join(lines) + "\n")


@pytest.fixture
def task() -> Any:
    (task,) = documented().register_tasks()
    return task


def test_the_documented_task_keeps_its_contract(task: Any, tmp_path: Path) -> None:
    write_files(tmp_path)
    check_task(task, tmp_path, workspace=Workspace(tmp_path, tmp_path, tmp_path, Settings(offline=True)))


def test_the_documented_levels_are_learned_and_predicted(
    task: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path / "data")
    line = CommandLine(tmp_path, plugins(register_tasks=[task]), capsys, monkeypatch)
    training = ["--lr", "0.02", "--epochs", "6", "--batch-size", "8", "--keep", "all"]
    line.done("run", "reviews", "--backbone", "words", *training)
    (run,) = line.fitted()
    (tmp_path / "mine.txt").write_text("a sunny day\na rainy day\na plain day\n")
    line.done("predict", run, tmp_path / "mine.txt", "--out", tmp_path / "mine.tsv")
    assert (tmp_path / "mine.tsv").read_text() == "index\tprediction\n0\tgood\n1\tbad\n2\tfair\n"
    code, written = line("runs", "export", run, tmp_path / "out")
    assert code == 2 and "no other library has a head for problems of the kind 'level'" in written
