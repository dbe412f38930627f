"""Quality against cost: a chart for each quantity that was measured, with the Pareto front of the systems."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from benchrunner.results import Result, comparison
from benchrunner_report.drawings.chart import Axis, Chart, Group, Mark, Panel, Point
from benchrunner_report.drawings.task_charts import Card


def cost_cards(result: Result) -> Iterator[Card]:
    """Yield a card with a chart for each quantity that two systems or more have.

    Quality is the mean over all columns of tasks; a system without one of these figures is left out.
    """
    about = "line: systems that no other beats in both; pale: another is as good in both, and better in one"
    quality, label, sign = _quality(result)
    costs_of = defaultdict[tuple[str, str], list[comparison.Cost]](list)
    for cost in result.costs:
        costs_of[cost.quantity, cost.unit].append(cost)
    for number, ((quantity, unit), costs) in enumerate(costs_of.items()):
        more, direction = ("more", -1) if unit.endswith("/s") else ("less", 1)
        shown = [cost for cost in costs if cost.system in quality and (cost.value or 0) > 0]
        if len(shown) > 1:
            across = f"{quantity}, {unit or 'number'} (logarithmic; {more} is better)"
            groups = _groups(shown, quality, result.study.names, direction, sign)
            title = f"{label} against {quantity}"
            axes = Axis(across, is_logarithmic=True), Axis()
            chart = Chart(f"quality-{number}", title, *axes, [Panel(label, groups)], is_broad=True)
            yield Card(f"Quality and {quantity}", about, [chart])


def _quality(result: Result) -> tuple[dict[str, float], str, int]:
    """Return the quality of each system that has all figures, what the axis says, and -1 if lower is better, else 1.

    Scores and errors together have no mean: there is no quality then.
    """
    tasks = {own.name: own.title for own in result.study.columns if own.task}
    quality = {}
    directions = set[bool]()
    for system in result.study.names:
        shown = []
        for name in tasks:
            figure = result.figures[system, name]
            directions.add(figure.lower_is_better)
            value = figure.shown(figure.mean.value)
            if value is not None:
                shown.append(value)
        if shown and len(shown) == len(tasks):
            quality[system] = statistics.fmean(shown)
    label = next(iter(tasks.values())) if len(tasks) == 1 else f"mean over {len(tasks)} columns"
    if len(directions) > 1:
        return {}, label, 1
    if directions == {True}:
        return quality, f"{label}, points (lower is better)", -1
    return quality, f"{label}, points", 1


def _groups(
    costs: Sequence[comparison.Cost], quality: Mapping[str, float], names: Sequence[str], direction: int, sign: int
) -> list[Group]:
    """Return the front as a line, on which a quality holds until the next better one, and the marks of the systems.

    `direction` is -1 if a higher cost is better, as of speeds; `sign` is -1 if a lower quality is, as of errors.
    """
    points = {}
    for cost in costs:
        points[cost.system] = (direction * (cost.value or 0.0), sign * quality[cost.system])
    best = front(points.values())
    corners = list[Point]()
    for price, gain in best:
        if corners:
            corners.append((abs(price), corners[-1][1]))
        corners.append((abs(price), sign * gain))
    groups = [Group("", "", 0, [Mark("front", corners)])]
    for cost in costs:
        point = points[cost.system]
        price, gain = point
        level = sign * gain
        marks = [Mark("", [(abs(price), level)], 5)]
        if cost.low and cost.high and cost.low > 0:
            marks.insert(0, Mark("whisker", [(cost.low, level), (cost.high, level)]))
        about = f"{level:.1f} at {cost.text} {cost.interval_text}".rstrip()
        kind = "" if point in best else "pale"
        groups.append(Group(cost.system, about, names.index(cost.system), marks, kind, is_labelled=True))
    return groups


def front(points: Iterable[Point]) -> list[Point]:
    """Return the Pareto front, by price: points that no other point equals in both figures and beats in one."""
    kept = list[Point]()
    for price, gain in sorted(set(points), key=lambda point: (point[0], -point[1])):
        if not kept or gain > kept[-1][1]:
            kept.append((price, gain))
    return kept
