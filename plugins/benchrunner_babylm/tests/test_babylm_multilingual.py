"""The multilingual track: its tasks keep their contract, its files are read, and its figures are found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchrunner import DataError, Workspace
from benchrunner.workspace import Settings
from benchrunner_babylm.multilingual import SUITE, tasks
from benchrunner_kit.testing import check_task
from benchrunner_leaderboards import register_leaderboards

TASKS = {task.name.partition("/")[2]: task for task in tasks()}


@pytest.mark.parametrize("name", ["arc-en", "mnli-nl", "mnli-zh", "xnli-zh"])
def test_a_task_keeps_its_contract(name: str, tmp_path: Path) -> None:
    check_task(TASKS[name], tmp_path)


def load(folder: Path, name: str, given: dict[str, Any]) -> list[dict[str, Any]]:
    task, _, language = name.partition("-")
    home = folder / "multilingual/finetune/data/multilingual" / language / task
    home.mkdir(parents=True)
    (home / f"{task}_{language}.train.jsonl").write_text(json.dumps(given) + "\n")
    workspace = Workspace(folder, folder, data=folder, settings=Settings(offline=True))
    rows: list[dict[str, Any]] = TASKS[name].load("train", workspace).table.to_pylist()
    return rows


PAIR = {"idx": 3, "premise": "P.", "hypothesis": "H."}


@pytest.mark.parametrize(
    ("name", "given", "row"),
    [
        ("arc-nl", {"idx": 1, "sentence": "Q?\nA: x\nB: y", "label": "B"}, {"a": "Q?\nA: x\nB: y", "label": "B"}),
        ("sib200-en", {"sentence": "S.", "label": "science/technology"}, {"a": "S.", "label": "science/technology"}),
        ("mnli-nl", {**PAIR, "label": "inhoud"}, {"a": "P.", "b": "H.", "label": "entailment"}),
        ("mnli-zh", {**PAIR, "label": "矛盾"}, {"a": "P.", "b": "H.", "label": "contradiction"}),
        ("mnli-en", {**PAIR, "label": "neutral"}, {"a": "P.", "b": "H.", "label": "neutral"}),
        ("xnli-zh", {**PAIR, "label": 2}, {"a": "P.", "b": "H.", "label": "contradiction"}),
    ],
)
def test_an_object_becomes_a_row(name: str, given: dict[str, Any], row: dict[str, str], tmp_path: Path) -> None:
    assert load(tmp_path, name, given) == [row]


def test_a_label_of_another_language_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"mnli_zh\.train\.jsonl:1: label 'inhoud' is not one of"):
        load(tmp_path, "mnli-zh", {**PAIR, "label": "inhoud"})


def test_every_language_has_the_mean_of_all_its_tasks() -> None:
    suites = {task.suite for task in TASKS.values()}
    (suite,) = suites
    assert suite is not None and suite.name == SUITE
    terms = {average.name: len(average.terms) for average in suite.averages}
    assert terms == {"BabyLM English": 7, "BabyLM Dutch": 7, "BabyLM Chinese": 8}
    assert sum(terms.values()) == len(TASKS) == 22


def test_published_figures_are_of_the_tasks() -> None:
    found = {board.name: board for board in register_leaderboards()}[SUITE]
    assert all(column.task == f"{SUITE}/{name}" for name, column in found.columns.items())
    assert {row.system: row.cells["xnli-en"] for row in found.published if "xnli-en" in row.cells} == {
        "GPT-2 Strict-Small": 43.2,
        "GPT-2 en+nld equal": 45.2,
        "GPT-2 en+nld+zho equal": 46.7,
        "GPT-2 en+zho equal": 44.3,
    }
