"""The tasks keep their contract on demo data, and objects in the challenge's layout become the right texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

import benchrunner_babylm
from benchrunner import DataError, Task, Workspace
from benchrunner.workspace import Settings
from benchrunner_babylm import register_tasks
from benchrunner_babylm.table import tasks
from benchrunner_kit.testing import check_task
from learned_demo import learned_tasks

TASKS = {task.name.removeprefix("babylm/").removesuffix("-filtered"): task for task in tasks()}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_task_keeps_its_contract(task: Task, tmp_path: Path) -> None:
    check_task(task, tmp_path)


def load(folder: Path, name: str, given: Any, place: str = "evaluation_data/full_eval") -> list[dict[str, Any]]:
    home = folder / place / "glue_filtered"
    home.mkdir(parents=True, exist_ok=True)
    (home / f"{name}.train.jsonl").write_text(json.dumps(given) + "\n")
    workspace = Workspace(folder, folder, data=folder, settings=Settings(offline=True))
    rows: list[dict[str, Any]] = TASKS[name].load("train", workspace).table.to_pylist()
    return rows


OBJECTS: Mapping[str, tuple[Mapping[str, Any], tuple[str, str]]] = {
    "boolq": ({"question": "is it so", "passage": "It is."}, ("is it so", "It is.")),
    "mnli": ({"premise": "A.", "hypothesis": "B."}, ("A.", "B.")),
    "mrpc": ({"sentence1": "A.", "sentence2": "B."}, ("A.", "B.")),
    "multirc": ({"paragraph": "P.", "question": "Who?", "answer": "Ann"}, ("Question: Who? Answer: Ann", "P.")),
    "qqp": ({"question1": "A?", "question2": "B?"}, ("A?", "B?")),
    "rte": ({"sentence1": "A.", "sentence2": "B."}, ("A.", "B.")),
    "wsc": (
        {"text": "Ann sang; she left.", "span1_text": "Ann", "span2_text": "she"},
        ('Does "she" refer to "Ann" in this passage?', "Ann sang; she left."),
    ),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_becomes_the_texts_of_the_pipeline(name: str, tmp_path: Path) -> None:
    given, (first, second) = OBJECTS[name]
    expected = [{"a": first, "b": second, "label": "1"}]
    assert load(tmp_path, name, {**given, "label": 1, "idx": 0}) == expected
    assert load(tmp_path / "other", name, {**given, "label": True}, "") == expected


def test_a_bad_object_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"wsc\.train\.jsonl:1: .*there is no 'span2_text'"):
        load(tmp_path, "wsc", {"text": "a", "span1_text": "b", "label": 1})
    with pytest.raises(DataError, match=r"rte\.train\.jsonl:1: label '2' is not one of 0, 1"):
        load(tmp_path, "rte", {"sentence1": "a", "sentence2": "b", "label": 2})


def test_the_figures_equal_scikit_learn() -> None:
    import pyarrow as pa

    gold, answers = [0, 1, 1, 0, 1, 1, 0], [1, 1, 0, 0, 1, 1, 1]
    table = pa.table({"label": list(map(str, gold))})
    figures = TASKS["mrpc"].scores(table, list(map(str, answers)))
    assert list(figures) == ["f1", "accuracy", "matthews"]
    expected = [score(gold, answers) for score in (f1_score, accuracy_score, matthews_corrcoef)]
    assert [figure.value for figure in figures.values()] == pytest.approx(expected)


@pytest.mark.slow
def test_every_task_is_learned_and_submitted(tmp_path: Path) -> None:
    learned = learned_tasks("babylm", benchrunner_babylm, tmp_path)
    assert {task.name for task in tasks()} <= set(learned) <= {task.name for task in register_tasks()}
