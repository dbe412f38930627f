"""The public names of `benchrunner_tasks`, each with its module."""

from benchrunner_tasks.correlations import PEARSON as PEARSON, SPEARMAN as SPEARMAN
from benchrunner_tasks.data import data_checks as data_checks
from benchrunner_tasks.group_metrics import (
    exact_match_of_groups as exact_match_of_groups,
    mean_of_groups as mean_of_groups,
)
from benchrunner_tasks.hub_tables import HubTable as HubTable
from benchrunner_tasks.label_metrics import (
    BALANCED_ACCURACY as BALANCED_ACCURACY,
    MATTHEWS as MATTHEWS,
    f1 as f1,
    f1_macro as f1_macro,
    f1_micro as f1_micro,
    f1_samples as f1_samples,
    f1_weighted as f1_weighted,
)
from benchrunner_tasks.probability_metrics import (
    average_precision as average_precision,
    brier as brier,
    label_probabilities as label_probabilities,
    log_loss as log_loss,
    roc_auc as roc_auc,
)
from benchrunner_tasks.table_files import TABLE_SUFFIXES as TABLE_SUFFIXES, table_file as table_file
