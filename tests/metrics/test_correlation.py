"""Correlations: hand-worked values and absent scores."""

from __future__ import annotations

import pytest

from benchrunner.metrics import PEARSON, SPEARMAN, Score, score


def test_correlations_by_hand() -> None:
    # Deviations -1 0 1 and -2 1 1: 3 / sqrt(2 * 6). Ranks 1 2 3 and 1 2.5 2.5: 1.5 / sqrt(2 * 1.5)
    assert score(PEARSON, [1, 2, 3], [0, 3, 3]).value == pytest.approx(3 / 12**0.5)
    assert score(SPEARMAN, [1, 2, 3], [0, 3, 3]).value == pytest.approx(1.5 / 3**0.5)


def test_a_correlation_with_a_constant_is_absent() -> None:
    for metric in (PEARSON, SPEARMAN):
        assert score(metric, [1.0, 2.0], [3.0, 3.0]) == Score(None, "no correlation: all predictions are the same")
        assert score(metric, [2.0, 2.0], [3.0, 4.0]) == Score(None, "no correlation: all gold scores are the same")


def test_a_correlation_with_nan_is_absent() -> None:
    expected = Score(None, "no correlation: not all predictions are finite")
    assert score(SPEARMAN, [1.0, 2.0, 3.0], [1.0, float("nan"), 2.0]) == expected


def test_nearly_constant_predictions_raise_no_warning() -> None:
    assert score(PEARSON, [1.0, 2.0, 3.0], [1.0, 1.0, 1.0 + 1e-15]).value is not None
