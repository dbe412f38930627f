"""Metrics: they compute a figure from gold answers and predictions, or say why there is none."""

from benchrunner.metrics.classification import checked_labels, label_matrix
from benchrunner.metrics.metric import (
    ANSWERS,
    Column,
    GoldRow,
    Metric,
    RowSums,
    Score,
    ScoresOfWeights,
    gold_rows,
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
    "checked_labels",
    "gold_rows",
    "label_matrix",
    "mean_of_rows",
    "scores",
]
