"""Statistics: intervals of scores, tests between systems, Holm's correction, the expected best of several trials."""

from benchrunner.statistics.corrections import holm
from benchrunner.statistics.intervals import Interval, example_interval, expected_best, restart_interval
from benchrunner.statistics.paired_test import Chance, Comparison, arms_test, chance_of_better, paired_test

__all__ = [
    "Chance",
    "Comparison",
    "Interval",
    "arms_test",
    "chance_of_better",
    "example_interval",
    "expected_best",
    "holm",
    "paired_test",
    "restart_interval",
]
