"""The tasks keep their contract, read the official layouts, and score as the official metrics do."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

import benchrunner_superglue
from benchrunner import DataError, Score, Task, Term, Workspace
from benchrunner_kit.testing import check_task
from benchrunner_superglue import register_tasks
from benchrunner_superglue.table import CB_LABELS, SUPERGLUE
from learned_demo import learned_tasks

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
        ("record", {"passage": {"text": "a", "entities": []}}, r"a list of one text or more, found \[\]"),
        ("wic", {"end1": 300}, "marks no word of its text"),
        ("wsc", {"target": {"span1_index": 90, "span1_text": "a"}}, "span1_index is 90, and the text has 7 words"),
    ],
)
def test_a_bad_object_is_named_with_its_line(task: str, change: Any, reason: str, tmp_path: Path) -> None:
    folder, given, _ = OFFICIAL[task]
    with pytest.raises(DataError, match=reason):
        load(tmp_path, task, "train", f"{folder}/train.jsonl", given | change)


def scores(task: str, columns: Mapping[str, Any], answers: list[Any]) -> dict[str, float | None]:
    figures: dict[str, Score] = TASKS[task].scores(pa.table(columns), answers)
    return {name: score.value for name, score in figures.items()}


@pytest.mark.parametrize("seed", range(3))
def test_the_figures_of_cb_and_rte_equal_scikit_learn(seed: int) -> None:
    draw = random.Random(seed)
    gold, answers = draw.choices(CB_LABELS, k=40), draw.choices(CB_LABELS, k=40)
    assert scores("cb", {"label": gold}, answers) == {
        "accuracy": pytest.approx(accuracy_score(gold, answers)),
        "f1_macro": pytest.approx(f1_score(gold, answers, average="macro")),
    }
    gold, answers = (draw.choices(("entailment", "not_entailment"), k=40) for _ in range(2))
    figures = scores("rte-ax", {"label": gold}, answers)
    assert figures["accuracy"] == pytest.approx(accuracy_score(gold, answers))
    assert figures["matthews"] == pytest.approx(matthews_corrcoef(gold, answers))
    assert figures["gender_parity"] is None  # only AX-g has pairs


@pytest.mark.parametrize("seed", range(3))
def test_the_figures_of_multirc_equal_brute_force(seed: int) -> None:
    draw = random.Random(seed)
    rows = [(passage, question) for passage in range(4) for question in range(3) for _ in range(draw.randint(1, 3))]
    draw.shuffle(rows)
    gold, answers = (draw.choices(("false", "true"), k=len(rows)) for _ in range(2))
    right = dict.fromkeys(rows, True)
    for row, label, answer in zip(rows, gold, answers, strict=True):
        right[row] &= label == answer
    columns = {"label": gold, "passage": [row[0] for row in rows], "question": [row[1] for row in rows]}
    assert scores("multirc", columns, answers) == {
        "f1a": pytest.approx(f1_score(gold, answers, pos_label="true")),
        "exact_match": pytest.approx(sum(right.values()) / len(right)),
    }


def test_an_entity_is_compared_with_the_best_right_answer() -> None:
    columns = {
        "label": [[0], [1], [0]],
        "names": [["The Beatles", "Paul"], ["Ann", "Bo Lee"], ["x", "U.S."]],
        "answers": [["Beatles"], ["Lee", "Bo Lee, Jr"], ["U.S", "us"]],
    }
    # articles and punctuation do not count; "Bo Lee" and "Bo Lee, Jr" share two words of two and of three
    assert scores("record", columns, [0, 1, 1]) == {"f1": pytest.approx((1 + 0.8 + 1) / 3), "exact_match": 2 / 3}
    assert scores("record", columns, [1, 0, 0]) == {"f1": 0.0, "exact_match": 0.0}
    assert scores("record", columns, [7, 7, 7]) == {"f1": 0.0, "exact_match": 0.0}  # a file of somebody else


def test_gender_parity_is_the_share_of_pairs_with_equal_answers() -> None:
    gold = ["entailment", "entailment", "not_entailment", "not_entailment"]
    answers = ["entailment", "not_entailment", "entailment", "entailment"]
    figures = scores("rte-ax", {"label": gold, "pair": [0, 0, 1, 1]}, answers)
    assert figures["gender_parity"] == 0.5 and figures["accuracy"] == 0.25


def test_the_score_averages_the_metrics_of_a_task_first() -> None:
    (average,) = SUPERGLUE.averages
    values = {"boolq": [77.4], "cb": [83.6, 75.7], "copa": [70.6], "multirc": [70.0, 24.0], "record": [72.0, 71.3]}
    values |= {"rte-ax": [71.6], "wic": [69.5], "wsc": [64.3]}  # BERT-LARGE in Table 3 of the paper
    terms = {}
    for name, figures in values.items():
        metrics = [metric.name for metric in TASKS[name].metrics if not metric.detail]
        for metric, figure in zip(metrics, figures, strict=True):
            terms[Term(f"superglue/{name}", "dev", metric)] = figure
    value = average.of(terms)
    assert value is not None and round(value, 1) == 69.0


@pytest.mark.slow
def test_every_task_is_learned_and_submitted(tmp_path: Path) -> None:
    assert len(learned_tasks("superglue", benchrunner_superglue, tmp_path)) >= 6
