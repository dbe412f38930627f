"""Metrics: they compute a figure from gold answers and predictions, or give the reason why there is no figure."""

from benchrunner.metrics.classification import (
    ACCURACY,
    BALANCED_ACCURACY,
    EXACT_MATCH,
    MATTHEWS,
    f1,
    f1_macro,
    f1_micro,
    f1_samples,
    f1_weighted,
)
from benchrunner.metrics.correlation import PEARSON, SPEARMAN
from benchrunner.metrics.metric import ANSWERS, Metric, Score, score, scores
from benchrunner.metrics.ranking import MEAN_RECIPROCAL_RANK, average_precision, mean_reciprocal_rank, roc_auc
from benchrunner.metrics.weighting import RowSums, ScoresOfWeights, Weighted, mean_of_rows

__all__ = [
    "ACCURACY",
    "ANSWERS",
    "BALANCED_ACCURACY",
    "EXACT_MATCH",
    "MATTHEWS",
    "MEAN_RECIPROCAL_RANK",
    "PEARSON",
    "SPEARMAN",
    "Metric",
    "RowSums",
    "Score",
    "ScoresOfWeights",
    "Weighted",
    "average_precision",
    "f1",
    "f1_macro",
    "f1_micro",
    "f1_samples",
    "f1_weighted",
    "mean_of_rows",
    "mean_reciprocal_rank",
    "roc_auc",
    "score",
    "scores",
]
