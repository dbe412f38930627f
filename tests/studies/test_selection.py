"""Selection on dev: the rule, the metric and the splits that select, and the notes about them."""

import statistics
from dataclasses import replace
from pathlib import Path

import pytest

from benchrunner import FitError
from benchrunner.metrics import Score
from benchrunner.metrics.metric import EXACT_MATCH
from benchrunner.results import Fit, Result
from benchrunner.runs.predicting import Predicted
from benchrunner.studies.cells import Selection, selected_fit
from benchrunner.studies.comparison.footnotes import footnotes
from benchrunner.studies.comparison.json_values import as_json
from benchrunner.studies.selection import _figure, _scores
from chancy import ACCURACY, chancy, compare_rates
from rate_methods import metric_dependent, restart_dependent, split_dependent


def test_best_mean_grid_point_and_its_best_restart_are_chosen(rates_compared: Result) -> None:
    (cell,) = rates_compared.cells
    assert cell.chosen is not None and cell.chosen.lr == 8
    assert selected_fit(cell).seed == 2
    spread = cell.figures[ACCURACY]
    assert spread.values == (8 / 24, 16 / 24, 24 / 24)
    assert (spread.best.value, spread.mean.value) == (1.0, pytest.approx(2 / 3))
    assert spread.deviation == pytest.approx(statistics.stdev(spread.values))


@pytest.mark.parametrize(("rule", "lr", "seed", "mean"), [("mean", 8, 2, 17 / 24), ("best", 4, 1, 28 / 72)])
def test_the_rule_chooses_the_best_mean_or_fit(rule: str, lr: int, seed: int, mean: float, tmp_path: Path) -> None:
    made = restart_dependent(tmp_path)
    result = compare_rates(made, selection=Selection(rule=rule))
    (cell,) = result.cells
    assert cell.chosen is not None
    assert (cell.chosen.lr, selected_fit(cell).seed) == (lr, seed)
    assert cell.figures[ACCURACY].mean.value == pytest.approx(mean), "over the restarts of the chosen grid point"
    assert as_json(result)["cells"][0]["select"] == rule
    note = "mine/mood: selected as the best single fit of all grid points and restarts"
    assert (note in footnotes(result)) == (rule == "best")


@pytest.mark.parametrize(("metric", "lr"), [(None, 4), ("accuracy", 4), ("matthews", 8)])
def test_the_metric_that_selects_can_be_chosen(metric: str | None, lr: int, tmp_path: Path) -> None:
    result = compare_rates(metric_dependent(tmp_path), seeds=(0,), selection=Selection(metric=metric))
    (cell,) = result.cells
    assert cell.chosen is not None and cell.chosen.lr == lr
    assert as_json(result)["cells"][0]["selected_by"] == (metric or "accuracy")
    assert ("mine/mood: selected by matthews" in footnotes(result)) == (metric == "matthews")


@pytest.mark.parametrize(
    ("select_on", "rate", "note"),
    [
        ((), 8, "selected on the mean over near, far"),
        (("near",), 4, "selected on near"),
        (("far",), 8, "selected on far"),
        (("near", "far"), 8, "selected on the mean over near, far"),
    ],
)
def test_the_splits_that_select_are_told(select_on: tuple[str, ...], rate: float, note: str, tmp_path: Path) -> None:
    result = compare_rates(split_dependent(tmp_path, select_on=select_on), seeds=(0,))
    (cell,) = result.cells
    assert cell.chosen is not None and cell.chosen.lr == rate
    assert f"mine/mood: {note}" in list(footnotes(result))
    (shown,) = as_json(result)["cells"]
    assert shown["selected_on"] == list(select_on or ("near", "far"))


def test_a_mean_over_restarts_leaves_no_score_out() -> None:
    """The mean of the other restarts would be too good."""
    scores = [Score(0.9), Score(None, "it answers nothing"), Score(0.7)]
    figure = _figure(scores[0], scores, EXACT_MATCH)
    assert figure.mean == Score(None, "1 of 3 restarts: it answers nothing")
    assert (figure.values, figure.deviation) == ((0.9, 0.7), None)


def test_only_a_test_split_may_have_no_score(tmp_path: Path) -> None:
    class Failing:
        def predict(self, fit: Fit, split: str) -> Predicted:
            raise FitError("a question is too long\nfor this fit")

    (result,) = compare_rates(chancy(tmp_path), seeds=(0,)).cells
    cell = replace(result.cell, tests=("test",))
    absent = Score(None, "a question is too long")
    assert _scores(selected_fit(result), "test", cell, Failing()) == {"accuracy": absent, "matthews": absent}
    with pytest.raises(FitError, match="too long"):
        _scores(selected_fit(result), "dev", cell, Failing())
