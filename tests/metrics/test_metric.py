"""Scores: a value, or the reason why there is none."""

from __future__ import annotations

import pytest

from benchrunner.metrics import ACCURACY, Metric, Score, roc_auc, score


def test_a_figure_that_is_not_finite_is_absent() -> None:
    infinite = Metric("odd", lambda gold, predicted: float("inf"))
    assert score(infinite, [1], [1]) == Score(None, "odd came out as inf")


def test_no_rows_have_no_score() -> None:
    assert score(ACCURACY, [], []) == Score(None, "there are no rows to score")


def test_too_few_predictions_are_an_error() -> None:
    with pytest.raises(ValueError, match="1 predictions for 2 gold answers"):
        score(ACCURACY, ["a", "b"], ["a"])


def test_predictions_without_probabilities_have_no_score() -> None:
    expected = Score(None, "roc_auc is computed from probabilities, and there are answers only")
    assert score(roc_auc(("a", "b")), ["a", "b"], None) == expected


@pytest.mark.parametrize("value", [Score(0.5), Score(0.0), Score(None, "why")], ids=str)
def test_scores_survive_json(value: Score) -> None:
    assert Score.from_json(value.as_json()) == value
