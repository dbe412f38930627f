"""The public names of `benchrunner_kinds`, each with its module."""

from benchrunner_kinds.choices import Candidates as Candidates, Choose as Choose
from benchrunner_kinds.group_metrics import (
    exact_match_of_groups as exact_match_of_groups,
    mean_of_groups as mean_of_groups,
)
from benchrunner_kinds.marked_words import ClassifyWords as ClassifyWords
from benchrunner_kinds.multi_label import MultiLabel as MultiLabel
from benchrunner_kinds.probability_metrics import average_precision as average_precision, roc_auc as roc_auc
from benchrunner_kinds.spans.span import Span as Span
from benchrunner_kinds.tags import iob_tags as iob_tags
from benchrunner_kinds.tags.tag import Tag as Tag
from benchrunner_kinds.tags.word_columns import WordColumns as WordColumns
