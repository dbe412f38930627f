"""Metrics: they compute a figure from gold answers and predictions, or give the reason why there is no figure."""

from benchrunner.metrics.classification import (
    ACCURACY,
    BALANCED_ACCURACY,
    EXACT_MATCH,
    MATTHEWS,
    RIGHT_CHOICE,
    f1,
    f1_macro,
    f1_micro,
    f1_samples,
    f1_weighted,
)
from benchrunner.metrics.correlation import PEARSON, SPEARMAN
from benchrunner.metrics.groups import exact_match_of_groups, mean_of_groups, reciprocal_rank_of_groups
from benchrunner.metrics.metric import ANSWERS, GoldRow, Metric, Score, gold_rows, score, scores
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
    "RIGHT_CHOICE",
    "SPEARMAN",
    "GoldRow",
    "Metric",
    "RowSums",
    "Score",
    "ScoresOfWeights",
    "Weighted",
    "average_precision",
    "exact_match_of_groups",
    "f1",
    "f1_macro",
    "f1_micro",
    "f1_samples",
    "f1_weighted",
    "gold_rows",
    "mean_of_groups",
    "mean_of_rows",
    "mean_reciprocal_rank",
    "reciprocal_rank_of_groups",
    "roc_auc",
    "score",
    "scores",
]
