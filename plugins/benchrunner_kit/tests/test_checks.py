"""The checks for plugin authors find what they are for."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchrunner import ACCURACY, Metric, PluginError, RowsFrom, Split, Workspace
from benchrunner.engine import Parameter
from benchrunner_kit.testing import check_task
from benchrunner_kit.testing.method_checks import another
from inline import files, mood


def test_a_good_task_passes(tmp_path: Path) -> None:
    check_task(mood(), tmp_path)


def test_a_task_without_demo_files_is_checked_on_workspace_data(tmp_path: Path) -> None:
    files(1, tmp_path)
    check_task(mood(demo_files=None), tmp_path, workspace=Workspace(tmp_path, tmp_path, data=tmp_path))
    with pytest.raises(PluginError, match="give a workspace with its data"):
        check_task(mood(demo_files=None), tmp_path)


def errors(gold: Any, answer: Any) -> float:
    return float(gold != answer)


def test_a_metric_of_errors_passes_if_it_says_so(tmp_path: Path) -> None:
    check_task(mood(metrics=(Metric.of_rows("errors", errors, lower_is_better=True),)), tmp_path)


def never_right(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
    return 0.0


def places_of_gladness(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
    return 1.0 + sum(place for place, label in enumerate(gold) if label == "glad")


def wandering(folder: Path) -> None:
    files(random.randrange(10**9), folder)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a metric that is never right": ({"metrics": (Metric("odd", never_right),)}, "odd of the right answers is not"),
    "a metric of errors that does not say so": (
        {"metrics": (Metric.of_rows("odd", errors),)},
        "odd of the right answers is not above zero: it is 0; higher must be better, or the metric has lower_is_better",
    ),
    "a metric that says the wrong direction": (
        {"metrics": (replace(ACCURACY, name="odd", lower_is_better=True),)},
        "odd of wrong answers, [0-9.]+, is no worse than that of the right ones, 1: fits are selected by it",
    ),
    "a headline metric without a value": (
        {"metrics": (Metric("odd", lambda gold, answers: float("nan")),)},
        "odd of the right answers has no value: fits are selected by it",
    ),
    "a headline metric that is constant": (
        {"metrics": (Metric("odd", lambda gold, answers: 0.5),)},
        "odd of wrong answers, 0.5, is no worse than that of the right ones, 0.5",
    ),
    "files that differ from call to call": ({"demo_files": wandering}, "different files each time"),
    "a metric that crashes on one row": (
        {"metrics": (Metric("odd", lambda gold, answers: 1 / (len(gold) - 1)),)},
        "computing odd of a single row failed: ZeroDivisionError",
    ),
    "a metric of the order of rows": ({"metrics": (Metric("odd", places_of_gladness),)}, "odd is .* for the rows,"),
    "a metric that is not the mean of its rows": (
        {"metrics": (replace(ACCURACY, name="odd", per_row=lambda gold, answer: 1.0),)},
        "odd is [0-9.]+ by `compute`, and 1 as the mean of `per_row`",
    ),
    "a metric of figures that are not there": (
        {"metrics": (Metric("odd", lambda gold, odds: 1.0, computed_from="odds"),)},
        "odd is computed from odds, which extra_figures does",
    ),
    "a source that crashes": (
        {"splits": {"train": Split("train", (RowsFrom(lambda workspace: {}["a"]),))}},
        "split train: The source RowsFrom of mine/mood, split 'train', failed: KeyError: 'a'",
    ),
    "files of another layout": (
        {"demo_files": lambda folder: (folder / "mood").mkdir(parents=True)},
        "split train: No data for mine/mood",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_task_that_breaks_its_contract_is_told_how(name: str, tmp_path: Path) -> None:
    change, reason = BAD[name]
    with pytest.raises(PluginError, match=f"(?s)mine/mood breaks its contract:\n  - .*{reason}"):
        check_task(mood(**change), tmp_path)


def test_another_value_is_within_the_limits() -> None:
    assert [
        another(Parameter("a", "a", 1, at_most=1)),
        another(Parameter("a", "a", 0.5, at_most=1, at_least=0)),
        another(Parameter("a", "a", "x", choices=("x", "y"))),
        another(Parameter("a", "a", True)),
        another(Parameter("a", "a", "x", choices=("x",))),
    ] == [0, 0.25, "y", False, None]
