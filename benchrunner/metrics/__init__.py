"""Metrics: they compute a figure from gold answers and predictions, or say why there is none."""

from benchrunner.metrics.metric import (
    ANSWERS,
    Column,
    GoldRow,
    Metric,
    RowSums,
    Score,
    ScoresOfWeights,
    gold_rows,
    labels_of,
    mean_of_rows,
    scores,
)

__all__ = [
    "ANSWERS",
    "Column",
    "GoldRow",
    "Metric",
    "RowSums",
    "Score",
    "ScoresOfWeights",
    "gold_rows",
    "labels_of",
    "mean_of_rows",
    "scores",
]
