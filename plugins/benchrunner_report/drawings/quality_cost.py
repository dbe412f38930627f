"""Quality against cost: a chart for each quantity that was measured, with the Pareto front of the systems."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from benchrunner.results import Result, comparison
from benchrunner_report.drawings.chart import WIDTH, Axis, Chart, Group, Mark, Panel, Point
from benchrunner_report.drawings.task_charts import Card


@final
@dataclass(frozen=True)
class Choice:
    """A system as a point of a chart, with its quality and its cost."""

    name: str
    number: int
    """Place of the system in the study, which decides on its marker."""
    quality: float
    cost: comparison.Cost
    value: float
    """The number of the cost."""
    gain: float
    """The quality, so that more is better."""
    price: float
    """The cost, so that less is better."""


def cost_cards(result: Result) -> Iterator[Card]:
    """Yield a card with a chart for each quantity that two systems or more have.

    Quality is the mean over all columns of tasks; a system without one of these figures is left out.
    """
    about = "line: systems that no other beats in both; pale: another is as good in both, and better in one"
    quality, label, sign = _quality(result)
    costs_of = defaultdict[tuple[str, str], list[comparison.Cost]](list)
    for cost in result.costs:
        costs_of[cost.quantity, cost.unit].append(cost)
    for number, ((quantity, _), costs) in enumerate(costs_of.items()):
        choices = []
        for cost in costs:
            if cost.system in quality and cost.value is not None and cost.value > 0:
                price = -cost.value if cost.unit.endswith("/s") else cost.value
                shown = quality[cost.system]
                place = result.study.names.index(cost.system)
                choices.append(Choice(cost.system, place, shown, cost, cost.value, sign * shown, price))
        if len(choices) > 1:
            yield Card(f"Quality and {quantity}", about, [_chart(f"quality-{number}", label, choices)])


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


def front(choices: Sequence[Choice]) -> list[Choice]:
    """Return the systems than which no other is as good and as cheap, and better or cheaper; the cheapest first."""
    kept = list[Choice]()
    for choice in sorted(choices, key=lambda choice: (choice.price, -choice.gain)):
        last = kept[-1] if kept else choice
        is_equal = (choice.price, choice.gain) == (last.price, last.gain)
        if is_equal or choice.gain > last.gain:
            kept.append(choice)
    return kept


def _chart(name: str, label: str, choices: Sequence[Choice]) -> Chart:
    """Return the chart of some systems, with the front as a line: a quality holds until the next better one."""
    best = front(choices)
    corners = list[Point]()
    for choice in best:
        if corners:
            corners.append((choice.value, corners[-1][1]))
        corners.append((choice.value, choice.quality))
    groups = [Group("", "", 0, [Mark("front", corners)])]
    for choice in choices:
        cost, quality = choice.cost, choice.quality
        marks = [Mark("", [(choice.value, quality)], 5)]
        if cost.low and cost.high:
            marks.insert(0, Mark("whisker", [(cost.low, quality), (cost.high, quality)]))
        about = f"{quality:.1f} at {cost.text} {cost.interval_text}".rstrip()
        kind = "" if choice in best else "pale"
        groups.append(Group(choice.name, about, choice.number, marks, kind, is_labelled=True))
    cost = choices[0].cost
    more = "more" if cost.unit.endswith("/s") else "less"
    across = Axis(f"{cost.quantity}, {cost.unit or 'number'} (logarithmic; {more} is better)", is_logarithmic=True)
    return Chart(name, f"{label} against {cost.quantity}", across, Axis(), [Panel(label, groups)], width=1.5 * WIDTH)
