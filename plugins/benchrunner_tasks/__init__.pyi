"""The public names of `benchrunner_tasks`, each with its module."""

from benchrunner_tasks.correlations import PEARSON as PEARSON, SPEARMAN as SPEARMAN
from benchrunner_tasks.group_metrics import (
    exact_match_of_groups as exact_match_of_groups,
    mean_of_groups as mean_of_groups,
)
from benchrunner_tasks.hub_tables import HubTable as HubTable
from benchrunner_tasks.probability_metrics import (
    average_precision as average_precision,
    brier as brier,
    label_probabilities as label_probabilities,
    log_loss as log_loss,
    roc_auc as roc_auc,
)
