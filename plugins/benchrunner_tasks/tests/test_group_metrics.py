"""Metrics of groups of rows and of further columns, against brute force and hand-worked values."""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from benchrunner import (
    ACCURACY,
    Classify,
    DataError,
    GoldRow,
    JsonTable,
    Metric,
    PluginError,
    Score,
    Split,
    Task,
    Workspace,
)
from benchrunner.metrics import gold_rows, scores
from benchrunner_tasks import exact_match_of_groups, mean_of_groups
from distributions import ROOT
from documents import blocks

PER_QUESTION = exact_match_of_groups("passage", "question")
ROWS = pa.table({"passage": [0, 0, 0, 1, 1], "question": [0, 0, 1, 0, 0]})


def value(metric: Metric, gold: Sequence[Any], predicted: Sequence[Any], table: pa.Table) -> Score:
    return scores([metric], gold, {metric.computed_from: predicted}, table)[metric.name]


def test_a_group_is_right_if_all_its_answers_are() -> None:
    assert value(PER_QUESTION, [1, 0, 1, 0, 0], [1, 0, 1, 0, 1], ROWS) == Score(2 / 3)


def test_groups_need_not_be_neighbours() -> None:
    table = pa.table({"passage": ["a", "b", "a"], "question": ["x", "x", "x"]})
    assert value(PER_QUESTION, [1, 1, 1], [1, 0, 0], table) == Score(0.0)
    assert value(PER_QUESTION, [1, 1, 1], [1, 0, 1], table) == Score(0.5)


def test_resamples_count_whole_groups() -> None:
    gold = gold_rows(PER_QUESTION, [1, 0, 1, 0, 0], ROWS)
    assert PER_QUESTION.row_sums is not None
    values = PER_QUESTION.row_sums.values(gold, [1, 0, 1, 0, 1])
    assert values.tolist() == [[1, 1], [0, 0], [1, 1], [0, 1], [0, 0]]
    assert PER_QUESTION.row_sums.scores(values.sum(axis=0, keepdims=True)) == pytest.approx(np.array([2 / 3]))


def test_groups_without_a_value_are_left_out() -> None:
    none = mean_of_groups("odd", ("question",), lambda gold, predicted: None)
    assert value(none, [1], [1], pa.table({"question": [0]})) == Score(None, "no odd: no group of rows has a value")


def test_rows_without_the_column_have_no_score() -> None:
    expected = Score(None, "exact_match reads the column 'passage', which these rows do not have")
    assert value(PER_QUESTION, [1], [1], pa.table({"question": [0]})) == expected
    assert PER_QUESTION.score([1], [1]) == expected


def test_metrics_with_other_columns_do_not_share_a_call() -> None:
    def compute(gold: Sequence[GoldRow], predicted: Sequence[Any]) -> float:
        return float(len({right[next(iter(right.columns))] for right in gold}))

    metrics = [Metric(name, compute, columns=(name,)) for name in ("passage", "question")]
    table = pa.table({"passage": [0, 1, 2], "question": [0, 0, 0]})
    figures = scores(metrics, [1] * 3, {"answers": [1] * 3}, table)
    assert figures == {"passage": Score(3.0), "question": Score(1.0)}


@pytest.mark.parametrize("columns", ["question", ()])
def test_groups_without_columns_are_refused(columns: Any) -> None:
    with pytest.raises(PluginError, match=r"such as \('question',\)"):
        mean_of_groups("odd", columns, lambda gold, predicted: 1.0)


def test_a_task_keeps_the_columns_of_its_metrics_and_boards(tmp_path: Path) -> None:
    def task(source: JsonTable) -> Task:
        splits = {"train": Split("train", (source,))}
        return Task("mine/x", "x", Classify(("no", "yes")), splits, (PER_QUESTION, ACCURACY), columns=("id",))

    columns = {name: name for name in ("a", "label", "id", "passage", "question", "unused")}
    lines = [
        f'{{"a": "t", "label": "{label}", "id": {number}, "passage": 3, "question": {number}, "unused": 1}}'
        for number, label in itertools.product(range(2), ("yes", "no"))
    ]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    workspace = Workspace(tmp_path, tmp_path, data=tmp_path)
    rows = task(JsonTable("x.jsonl", columns)).load("train", workspace)
    assert rows.table.column_names == ["a", "label", "id", "passage", "question"]
    assert task(JsonTable("x.jsonl", columns)).scores(rows.table, ["yes", "no", "yes", "yes"]) == {
        "exact_match": Score(0.5),
        "accuracy": Score(0.75),
    }
    del columns["id"]
    with pytest.raises(DataError, match="no column 'id', which the task mine/x needs"):
        task(JsonTable("x.jsonl", columns)).load("train", workspace)


def test_the_documented_metrics_read_their_columns(tmp_path: Path) -> None:
    (code,) = [
        code for code in blocks("python", ROOT / "docs" / "plugins" / "metrics.md") if "weighted_accuracy" in code
    ]
    module = ModuleType("answers")
    exec(compile(code, "metrics.md", "exec", dont_inherit=True), module.__dict__)
    (task,) = module.register_tasks()
    (tmp_path / "answers").mkdir()
    rows = [("who?", True, 3), ("who?", False, 1), ("when?", True, 2)]
    lines = [
        json.dumps({"question": question, "answer": "a", "right": right, "id": number, "weight": weight})
        for number, (question, right, weight) in enumerate(rows)
    ]
    (tmp_path / "answers" / "train.jsonl").write_text("\n".join(lines))
    table = task.load("train", Workspace(tmp_path, tmp_path, data=tmp_path)).table
    assert table.column("id").to_pylist() == [0, 1, 2]
    figures = task.scores(table, ["yes", "yes", "yes"])
    assert figures == {"weighted_accuracy": Score(5 / 6), "exact_match": Score(0.5)}
