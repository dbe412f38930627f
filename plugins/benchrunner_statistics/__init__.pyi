"""The public names of `benchrunner_statistics`, each with its module."""

from benchrunner_statistics.answered_rows import AnsweredRows as AnsweredRows, kept_figures as kept_figures
from benchrunner_statistics.conclusions import by_pair as by_pair, column_kind as column_kind
from benchrunner_statistics.example_intervals import (
    example_interval as example_interval,
    expected_best as expected_best,
)
from benchrunner_statistics.paired_tests import (
    arms_test as arms_test,
    paired_test as paired_test,
)
from benchrunner_statistics.scored_answers import ScoredAnswers as ScoredAnswers
