"""Folds of training rows: every row is held out once, what belongs together stays together, labels are even."""

from collections import Counter
from itertools import chain
from typing import Any

import pyarrow as pa
import pytest

from benchrunner import ACCURACY, RequestError, Rows
from benchrunner.tasks.folds import divided_rows, in_folds, rows_in_folds
from benchrunner.tasks.task import Folds
from benchrunner_tasks import exact_match_of_groups
from inline import mood, plugins

LABELS = ["glad"] * 61 + ["sad"] * 40


def rows(count: int = 101, **columns: list[Any]) -> Rows:
    texts = {"a": [f"text {number}" for number in range(count)], "label": LABELS[:count]}
    return Rows(pa.table({**texts, **columns}), "train.tsv")


@pytest.mark.parametrize("number", [2, 5, 101])
def test_every_row_is_held_out_once(number: int) -> None:
    folds = divided_rows(rows(), Folds(mood(), number), 0)
    assert len(folds) == number and sorted(chain(*folds)) == list(range(101))
    assert max(map(len, folds)) - min(map(len, folds)) <= 1
    for fold in range(1, number + 1):
        own = Folds(mood(), number, 0, fold)
        learned, held_out = (rows_in_folds(rows(), own, split) for split in ("train", "folds"))
        texts = [*learned.table.column("a").to_pylist(), *held_out.table.column("a").to_pylist()]
        assert sorted(texts) == sorted(rows().table.column("a").to_pylist())


def test_labels_are_even_and_the_seed_draws_the_division() -> None:
    first, second = (divided_rows(rows(), Folds(mood(), 5), seed) for seed in (0, 1))
    assert first == divided_rows(rows(), Folds(mood(), 5), 0) != second
    for fold in (*first, *second):
        counts = Counter(LABELS[row] for row in fold)
        assert counts["sad"] == 8 and counts["glad"] in (12, 13)


def test_no_cluster_and_no_group_is_divided() -> None:
    article = [row // 4 for row in range(96)]
    question = [(row + 2) // 4 if row % 8 in (2, 3, 4, 5) else 1_000 + row for row in range(96)]
    task = mood(clusters="article", metrics=(ACCURACY, exact_match_of_groups("question")))
    table = rows(96, article=article, question=question)
    folds = divided_rows(table, Folds(task, 3), 0)
    for column in (article, question):
        places = [{column[row] for row in fold} for fold in folds]
        assert sum(map(len, places)) == len(set(column))
    with pytest.raises(RequestError, match=r"mine/mood: train.tsv has 12 row\(s\), or groups .*too few for 13 folds"):
        divided_rows(table, Folds(task, 13), 0)


def test_a_name_with_folds_means_a_task_everywhere() -> None:
    tasks = plugins().tasks
    task = tasks.find("mood@5")
    assert task.name == "mine/mood@5" and list(task.splits) == ["train", "folds"] and task.suite is None
    assert task.named("dev") == ["folds"]
    assert tasks.find("mine/mood@5.1.3").folds == Folds(mood(), 5, 1, 3)
    assert tasks.offer("mine/other@5") is None and list(tasks) == ["mine/mood"]


@pytest.mark.parametrize("text", ["1", "0", "x", "", "5.0", "5.0.0", "5.0.6", "-3", "5.0.2.1"])
def test_a_wrong_number_of_folds_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match=f"mine/mood@{text}: give one number of folds from 2 up"):
        in_folds(mood(), text)


def test_folds_are_not_divided_again() -> None:
    with pytest.raises(RequestError, match="mine/mood@5@3: give one number"):
        in_folds(in_folds(mood(), "5"), "3")
