"""Sentences about the crossings of a figure's series: where one system overtakes another one."""

from __future__ import annotations

from collections.abc import Iterator

from benchrunner.statistics.crossings import FEWEST_RESTARTS
from benchrunner.studies.result import Result


def overtaking(result: Result) -> Iterator[str]:
    """Say of two series in each column where one overtakes the other, with the interval, or that they do not cross.

    An interval that reaches an end of the curves goes on beyond this end.
    """
    titles = {column.name: column.title for column in result.study.columns}
    axis = result.study.axis
    for (ours, theirs, column), found in result.statistics.crossings.items():
        said = []
        perhaps = []
        for stretch in found.stretches:
            less = " or less" * (stretch.low == found.first)
            more = " or more" * (stretch.high == found.last)
            up_to = f" to {stretch.high:,.0f}" * (stretch.high > stretch.low)
            interval = f"{stretch.low:,.0f}{less}{up_to}{more}"
            if stretch.at is None:
                perhaps.append(interval)
                continue
            ahead, behind = (ours, theirs) if stretch.is_rise else (theirs, ours)
            if found.confidence is None:
                interval = f"cannot be told: give --restarts {FEWEST_RESTARTS} or more"
            said.append(f"{ahead} overtakes {behind} at {stretch.at:,.0f} {axis} (interval {interval})")
        if not said:
            said.append(f"no crossing of {theirs} and {ours} between {found.first:,.0f} and {found.last:,.0f} {axis}")
        if perhaps and found.confidence is not None:
            said.append(f"not excluded is one at {', '.join(perhaps)}")
        yield f"{titles[column]}: {'; '.join(said)}."
