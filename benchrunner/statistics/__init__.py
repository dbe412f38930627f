"""Statistics: intervals of scores, tests between systems, Holm's correction, the expected best of several trials."""

from benchrunner.statistics.intervals import Interval, example_interval, expected_best, restart_interval
from benchrunner.statistics.paired_test import Comparison, holm, paired_test

__all__ = [
    "Comparison",
    "Interval",
    "example_interval",
    "expected_best",
    "holm",
    "paired_test",
    "restart_interval",
]
