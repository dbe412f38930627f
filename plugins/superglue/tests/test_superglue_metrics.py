"""The official metrics, against scikit-learn, brute force and hand-worked values."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from benchrunner import Score, Term
from benchrunner_superglue import SUPERGLUE, register_tasks
from benchrunner_superglue.table import CB_LABELS

TASKS = {task.name.removeprefix("superglue/"): task for task in register_tasks()}


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
