"""Metrics: they compute a figure from gold answers and predictions, or give the reason why there is no figure."""

from benchrunner.metrics.metric import ANSWERS, GoldRow, Metric, Score, gold_rows, scores
from benchrunner.metrics.weighting import RowSums, ScoresOfWeights, Weighted, mean_of_rows

__all__ = [
    "ANSWERS",
    "GoldRow",
    "Metric",
    "RowSums",
    "Score",
    "ScoresOfWeights",
    "Weighted",
    "gold_rows",
    "mean_of_rows",
    "scores",
]
