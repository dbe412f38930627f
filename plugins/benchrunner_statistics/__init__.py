"""Statistics for benchrunner: intervals of scores, and tests between systems that hold over rows and restarts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchrunner import hookimpl, named_by_stub

if TYPE_CHECKING:
    from benchrunner.results import Result, entries

__getattr__, __all__ = named_by_stub(__name__, __file__)


@hookimpl
def compare_systems(result: Result) -> entries.Statistics:
    from benchrunner_statistics.study_statistics import study_statistics

    return study_statistics(result)
