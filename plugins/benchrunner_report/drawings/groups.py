"""The charts of series: lines over the same axes, and a line for each name with a dot and what is behind it."""

from __future__ import annotations

from collections.abc import Sequence

from benchrunner_report.drawings.chart import Axis, Chart, Group, Mark, Panel, Point
from benchrunner_report.drawings.series import SHAPES, short


def curve(
    name: str, series: int, points: Sequence[Point], bars: Sequence[Point] = (), *, marks_all: bool = True
) -> Group:
    """Return a line with a marker at each point, or at the last only, and with the interval of each point."""
    marks = []
    for (place, _), ends in zip(points, bars, strict=False):
        marks.append(Mark("deviation", [(place, end) for end in ends]))
    marks += [Mark("curve", points), Mark("", points if marks_all else points[-1:], 3.4)]
    (start, first), (end, last) = points[0], points[-1]
    about = f"{first:.4g} at {short(start)} to {last:.4g} at {short(end)}"
    return Group(name, about, series, marks)


def curves(name: str, title: str, across: Axis, upwards: str, groups: Sequence[Group]) -> Chart:
    """Return a chart of lines: from seven lines on a panel for each, with the others in grey."""
    panels = [Panel(upwards, groups)]
    others = []
    if len(groups) > SHAPES:
        panels = [Panel(group.name, [group]) for group in groups]
        for group in groups:
            others += [Mark("other", mark.points) for mark in group.marks if mark.kind == "curve"]
    return Chart(name, title, across, Axis(), panels, Group("", "", 0, others))


def dot(
    name: str,
    series: int,
    place: int,
    value: float | None,
    interval: Sequence[float] | None,
    points: Sequence[float] = (),
    about: str = "",
    kind: str = "",
) -> Group:
    """Return a dot with its interval and the values behind it, such as those of restarts, on a line from the top."""
    marks = []
    if interval is not None:
        marks.append(Mark("interval", [(end, -place) for end in interval]))
    marks.append(Mark("point", [(point, -place) for point in points], 2.6))
    if value is not None:
        marks.append(Mark("", [(value, -place)], 4.5))
        about = f"{value:.1f}{about}"
    return Group(name, about, series, marks, kind)


def dots(
    name: str, title: str, across: Axis, groups: Sequence[Group], reference: tuple[str, float] | None = None
) -> Chart:
    """Return a chart with a line for each dot."""
    count = len(groups)
    names = [group.name for group in groups]
    upwards = Axis("", (0.5 - count, 0.5), ticks=range(0, -count, -1), names=names)
    return Chart(name, title, across, upwards, [Panel("", groups)], reference=reference)
