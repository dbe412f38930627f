"""Metrics of weighted rows equal the metrics of rows that are repeated as often."""

import itertools
from typing import Any

import numpy as np
import pytest

from benchrunner.errors import Undefined
from benchrunner.metrics import Metric
from benchrunner.metrics.metric import ACCURACY, EXACT_MATCH
from benchrunner_statistics.scored_answers import ScoredAnswers
from benchrunner_tasks import (
    BALANCED_ACCURACY,
    MATTHEWS,
    PEARSON,
    SPEARMAN,
    f1,
    f1_macro,
    f1_micro,
    f1_samples,
    f1_weighted,
)

LABELS = ("joy", "fear", "awe")


def labels(generator: np.random.Generator) -> list[Any]:
    return [str(label) for label in generator.choice(LABELS, 12, p=(0.6, 0.3, 0.1))]


def label_lists(generator: np.random.Generator) -> list[Any]:
    return [list(itertools.compress(LABELS, generator.random(len(LABELS)) < 0.4)) for _ in range(12)]


def numbers(generator: np.random.Generator) -> list[Any]:
    return generator.integers(0, 5, 12).tolist()  # with equal numbers, which share a rank


@pytest.mark.parametrize(
    ("metric", "answers"),
    [
        *((metric, labels) for metric in (ACCURACY, MATTHEWS, BALANCED_ACCURACY, f1("fear"))),
        *((average(LABELS), labels) for average in (f1_macro, f1_weighted)),
        (f1_micro(LABELS[:2]), labels),
        *((average(LABELS), label_lists) for average in (f1_macro, f1_micro, f1_weighted, f1_samples)),
        (EXACT_MATCH, label_lists),
        (PEARSON, numbers),
        (SPEARMAN, numbers),
        (Metric("own", lambda gold, predicted: max(map(abs, predicted)) / len(set(gold))), numbers),
    ],
    ids=lambda value: getattr(value, "name", getattr(value, "__name__", "")),
)
def test_a_weight_counts_a_row_so_often(metric: Metric, answers: Any) -> None:
    generator = np.random.default_rng(0)
    for _ in range(5):
        gold, predicted = answers(generator), answers(generator)
        weights = generator.integers(0, 3, (40, 12))
        weights[:3] = 0
        weights[:3, :2] = 1  # few rows, so that some metrics have no value
        expected = []
        for row_weights in weights:
            rows = np.repeat(np.arange(12), row_weights)
            try:
                expected.append(metric.value([gold[row] for row in rows], [predicted[row] for row in rows]))
            except Undefined:
                expected.append(np.nan)
        scores = ScoredAnswers(metric, gold, predicted).scores_of_weights(weights.astype(float))
        assert scores == pytest.approx(np.array(expected), nan_ok=True, abs=1e-12)
