"""Splits of one task have the same texts: a model of pairs does not answer single texts in silence."""

from pathlib import Path
from typing import Any

import pytest

from benchrunner import ACCURACY, Classify, DataError, RowsFrom, Split, Task, Workspace
from benchrunner.runs.predicting import predict
from inline import QUICK, runner


def task(*with_pairs: str) -> Task:
    """Make a task of which only some splits have a second text."""

    def split(role: Any) -> Split:
        def columns(workspace: Workspace) -> dict[str, list[str]]:
            second = {"b": ["two"] * 8} if role in with_pairs else {}
            return {"a": ["one"] * 8, **second, "label": ["yes", "no"] * 4}

        return Split(role, (RowsFrom(columns),))

    splits = {role: split(role) for role in ("train", "dev", "test")}
    return Task("mine/mixed", "Pairs?", Classify(("yes", "no")), splits, (ACCURACY,), recipe=QUICK)


@pytest.mark.parametrize("with_pairs", [("train",), ("dev", "test"), ("train", "dev")])
def test_pairs_in_some_splits_only_are_an_error(with_pairs: tuple[str, ...], tmp_path: Path) -> None:
    made = runner(tmp_path, register_tasks=[task(*with_pairs)])
    mixed = made.plugins.tasks.find("mixed")
    fit = made.planner.plan(mixed, "words")
    with pytest.raises(DataError, match=r"the splits of mine/mixed differ: .* has the column 'b', and .* has not"):
        for split in ("dev", "test"):
            predict(fit, split, made)


@pytest.mark.parametrize("with_pairs", [(), ("train", "dev", "test")])
def test_pairs_in_all_splits_or_none_are_right(with_pairs: tuple[str, ...], tmp_path: Path) -> None:
    made = runner(tmp_path, register_tasks=[task(*with_pairs)])
    for split in ("test", "train", "dev"):
        assert len(made.planner.rows(made.plugins.tasks.find("mixed"), split)) == 8
