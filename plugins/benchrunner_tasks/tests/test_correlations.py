"""Correlations: hand-worked values and absent scores."""

import random

import pytest
from scipy import stats

from benchrunner.metrics import Score
from benchrunner_tasks import PEARSON, SPEARMAN


def test_correlations_by_hand() -> None:
    # Deviations -1 0 1 and -2 1 1: 3 / sqrt(2 * 6). Ranks 1 2 3 and 1 2.5 2.5: 1.5 / sqrt(2 * 1.5)
    assert PEARSON.score([1, 2, 3], [0, 3, 3]).value == pytest.approx(3 / 12**0.5)
    assert SPEARMAN.score([1, 2, 3], [0, 3, 3]).value == pytest.approx(1.5 / 3**0.5)


@pytest.mark.parametrize("rows", [2, 5, 40, 300])
def test_correlations_agree_with_scipy(rows: int) -> None:
    draw = random.Random(rows)
    gold = [draw.randrange(6) + 1000.0 for _ in range(rows)]
    predicted = [0.01 * label + draw.random() for label in gold]
    gold[0] += 1e-3  # never all equal
    assert PEARSON.score(gold, predicted).value == pytest.approx(stats.pearsonr(gold, predicted)[0], abs=1e-12)
    assert SPEARMAN.score(gold, predicted).value == pytest.approx(stats.spearmanr(gold, predicted)[0], abs=1e-12)


def test_a_correlation_with_a_constant_is_absent() -> None:
    for metric in (PEARSON, SPEARMAN):
        assert metric.score([1.0, 2.0], [3.0, 3.0]) == Score(None, "no correlation: all predictions are the same")
        assert metric.score([2.0, 2.0], [3.0, 4.0]) == Score(None, "no correlation: all gold scores are the same")


def test_a_correlation_with_nan_is_absent() -> None:
    expected = Score(None, "no correlation: not all predictions are finite")
    assert SPEARMAN.score([1.0, 2.0, 3.0], [1.0, float("nan"), 2.0]) == expected


def test_nearly_constant_predictions_raise_no_warning() -> None:
    assert PEARSON.score([1.0, 2.0, 3.0], [1.0, 1.0, 1.0 + 1e-15]).value is not None
