"""The tasks keep their contract on demo data, and the official layouts become the right rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from benchrunner import DataError, Task, Workspace
from benchrunner_kit.testing import check_task
from benchrunner_superglue import register_tasks

TASKS = {task.name.removeprefix("superglue/"): task for task in register_tasks()}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_task_keeps_its_contract(task: Task, tmp_path: Path) -> None:
    check_task(task, tmp_path)


OFFICIAL: Mapping[str, tuple[str, Any, list[Any]]] = {
    "boolq": (
        "BoolQ",
        {"question": "is it so", "passage": "So -- It is.", "idx": 4, "label": True},
        [{"a": "So -- It is.", "b": "is it so", "label": "true", "idx": 4}],
    ),
    "cb": (
        "CB",
        {"premise": "He hoped.", "hypothesis": "It is.", "label": "neutral", "idx": 0},
        [{"a": "He hoped.", "b": "It is.", "label": "neutral", "idx": 0}],
    ),
    "copa": (
        "COPA",
        {"premise": "It fell.", "choice1": "One.", "choice2": "Two.", "question": "cause", "label": 1, "idx": 3},
        [{"a": "It fell. What was the cause of this?", "choices": ["One.", "Two."], "label": 1, "idx": 3}],
    ),
    "multirc": (
        "MultiRC",
        {
            "idx": 7,
            "version": 1.1,
            "passage": {
                "text": "T.",
                "questions": [
                    {
                        "question": "Who?",
                        "answers": [{"text": "A", "idx": 20, "label": 1}, {"text": "B", "idx": 21, "label": 0}],
                        "idx": 5,
                    },
                    {"question": "Why?", "answers": [{"text": "C", "idx": 22, "label": 1}], "idx": 6},
                ],
            },
        },
        [
            {"a": "T.", "b": "Who? A", "label": "true", "passage": 7, "question": 5, "answer": 20},
            {"a": "T.", "b": "Who? B", "label": "false", "passage": 7, "question": 5, "answer": 21},
            {"a": "T.", "b": "Why? C", "label": "true", "passage": 7, "question": 6, "answer": 22},
        ],
    ),
    "record": (
        "ReCoRD",
        {
            "source": "Daily mail",
            "passage": {
                "text": "Ann met Bo. Ann sang.",
                "entities": [{"start": 0, "end": 2}, {"start": 8, "end": 9}, {"start": 12, "end": 14}],
            },
            "idx": 1,
            "qas": [
                {
                    "query": "It was @placeholder.",
                    "idx": 9,
                    "answers": [{"start": 0, "end": 2, "text": "Ann"}, {"start": 12, "end": 14, "text": "Ann"}],
                }
            ],
        },
        [
            {
                "a": "Ann met Bo. Ann sang.",
                "choices": ["It was Ann.", "It was Bo."],
                "names": ["Ann", "Bo"],
                "label": [0],
                "idx": 9,
                "answers": ["Ann", "Ann"],
            }
        ],
    ),
    "rte-ax": (
        "RTE",
        {"premise": "P.", "hypothesis": "H.", "label": "not_entailment", "idx": 2},
        [{"a": "P.", "b": "H.", "label": "not_entailment", "idx": 2}],
    ),
    "wic": (
        "WiC",
        {"word": "place", "sentence1": "my place later?", "sentence2": "no place", "idx": 0, "label": False}
        | {"start1": 3, "start2": 3, "end1": 8, "end2": 8, "version": 1.1},
        [{"a": "my place later?", "b": "no place", "label": "false", "marks": [[0, 3, 8], [1, 3, 8]], "idx": 0}],
    ),
    "wsc": (
        "WSC",
        {
            "target": {"span1_index": 0, "span1_text": "Mark Hall", "span2_index": 4, "span2_text": "He"},
            "idx": 0,
            "label": True,
            "text": "Mark Hall told  Pete. He should go.",
        },
        [{"a": "Mark Hall told  Pete. He should go.", "label": "true", "marks": [[0, 0, 9], [0, 22, 24]], "idx": 0}],
    ),
}


def load(folder: Path, task: str, split: str, path: str, *given: Any) -> list[dict[str, Any]]:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text("".join(json.dumps(line) + "\n" for line in given))
    rows: list[dict[str, Any]] = TASKS[task].load(split, Workspace(folder, folder, data=folder)).table.to_pylist()
    return rows


@pytest.mark.parametrize("name", OFFICIAL)
def test_an_official_object_becomes_its_rows(name: str, tmp_path: Path) -> None:
    folder, given, rows = OFFICIAL[name]
    assert load(tmp_path, name, "train", f"{folder}/train.jsonl", given) == rows
    assert load(tmp_path / "own", name, "dev", f"SuperGLUE/{folder}/val.jsonl", given) == rows


def without(value: Any, *keys: str) -> Any:
    if isinstance(value, dict):
        return {key: without(inner, *keys) for key, inner in value.items() if key not in keys}
    return [without(inner, *keys) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", OFFICIAL)
def test_test_files_need_no_labels(name: str, tmp_path: Path) -> None:
    folder, given, rows = OFFICIAL[name]
    given = deepcopy(given)
    if name == "record":
        given["qas"][0] = without(given["qas"][0], "answers")
    expected = [without(row, "label", *["answers"] * (name == "record")) for row in rows]
    assert load(tmp_path, name, "test", f"{folder}/test.jsonl", without(given, "label")) == expected


def test_the_diagnostics_are_labelled_test_splits_of_rte(tmp_path: Path) -> None:
    broad = {"sentence1": "A.", "sentence2": "B.", "idx": 5, "label": "entailment", "logic": "Negation"}
    assert load(tmp_path, "rte-ax", "ax_b", "AX-b/AX-b.jsonl", broad) == [
        {"a": "A.", "b": "B.", "label": "entailment", "idx": 5}
    ]


def test_two_neighbours_of_ax_g_are_a_pair(tmp_path: Path) -> None:
    premises, hypotheses = ("She left.", "He left.", "He sang.", "She sang."), ("B.", "B.", "C.", "C.")
    rows = [
        {"premise": premise, "hypothesis": hypothesis, "idx": idx, "label": "entailment"}
        for premise, hypothesis, idx in zip(premises, hypotheses, (7, 9, 8, 3), strict=True)
    ]
    assert [row["pair"] for row in load(tmp_path, "rte-ax", "ax_g", "AX-g/AX-g.jsonl", *rows)] == [0, 0, 1, 1]
    for broken in ([rows[0], rows[2], rows[1], rows[3]], rows[:3]):
        with pytest.raises(DataError, match=r"/AX-g\.jsonl: rows \d and \d of AX-g must be a pair with one"):
            load(tmp_path, "rte-ax", "ax_g", "AX-g/AX-g.jsonl", *broken)


@pytest.mark.parametrize(
    ("task", "change", "reason"),
    [
        ("boolq", {"label": "maybe"}, r"BoolQ/train\.jsonl:1: label 'maybe' is not one of false, true"),
        ("cb", {"label": None}, r"CB/train\.jsonl:1: label None is not"),
        ("copa", {"question": "why"}, r"train\.jsonl:1: the rows of this object cannot be read: there is no 'why'"),
        ("multirc", {"passage": {"text": "a"}}, r"there is no 'questions'"),
        ("record", {"passage": {"text": "a", "entities": []}}, r"a list of one text or more, found '\[\]'"),
        ("wic", {"end1": 300}, "marks no word of its text"),
        ("wsc", {"target": {"span1_index": 90, "span1_text": "a"}}, "span1_index is 90, and the text has 7 words"),
    ],
)
def test_a_bad_object_is_named_with_its_line(task: str, change: Any, reason: str, tmp_path: Path) -> None:
    folder, given, _ = OFFICIAL[task]
    with pytest.raises(DataError, match=reason):
        load(tmp_path, task, "train", f"{folder}/train.jsonl", given | change)
