"""Quality against cost: a chart for each quantity that was measured, with the Pareto front of the systems."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, final

from benchrunner.results import Result, comparison
from benchrunner_report.drawings.charts import Card
from benchrunner_report.drawings.drawing import LEFT, LETTER, LONGEST_LABEL, RIGHT, TOP, WIDTH, Drawing
from benchrunner_report.drawings.svg import Point, Scale, element, marker, path, style

if TYPE_CHECKING:
    from markupsafe import Markup

BOTTOM = 250.0
WIDE = 1.5 * WIDTH
"""Size of a chart, in units of the drawing."""
LINE = 13.0
"""Height of a line of a name, in units of the drawing."""
MOST_TICKS = 6
PALE = "0.4"
"""Opacity of systems that are not on the front."""


@final
@dataclass(frozen=True)
class Choice:
    """A system as a point of a chart, with its quality and its cost."""

    name: str
    number: int
    """Place of the system in the study, which decides on its marker."""
    quality: float
    cost: comparison.Cost
    lower_is_better: bool = False
    """Whether the quality is an error."""

    @property
    def gain(self) -> float:
        """The quality, so that more is better."""
        return -self.quality if self.lower_is_better else self.quality

    @property
    def price(self) -> float:
        """The cost as a number of which less is better, and with which fronts are found."""
        value = self.cost.value or 0.0
        return -value if self.cost.unit.endswith("/s") else value

    def dominates(self, other: Choice) -> bool:
        """Whether this system is as good and as cheap as another one, and better or cheaper."""
        is_as_good = self.gain >= other.gain and self.price <= other.price
        return is_as_good and (self.gain, self.price) != (other.gain, other.price)


def cost_cards(result: Result) -> Iterator[Card]:
    """Yield a card with a chart for each quantity that two systems or more have.

    Quality is the mean over all columns of tasks; a system without one of these figures is left out.
    """
    quality, label, lower_is_better = _quality(result)
    names = result.study.names
    for number, (quantity, unit) in enumerate(dict.fromkeys((cost.quantity, cost.unit) for cost in result.costs)):
        choices = []
        for cost in result.costs:
            is_shown = (cost.quantity, cost.unit) == (quantity, unit) and cost.system in quality
            if is_shown and cost.value is not None and cost.value > 0:
                place = names.index(cost.system)
                choices.append(Choice(cost.system, place, quality[cost.system], cost, lower_is_better))
        if len(choices) > 1:
            about = "line: systems that no other beats in both; pale: another is as good in both, and better in one"
            yield Card(f"Quality and {quantity}", about, [_drawing(choices, label, f"quality-{number}")])


def _quality(result: Result) -> tuple[dict[str, float], str, bool]:
    """Return the quality of each system that has all figures, what the axis says, and whether lower is better.

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
        return {}, label, False
    lower_is_better = directions == {True}
    return quality, f"{label}, points{' (lower is better)' * lower_is_better}", lower_is_better


def front(choices: Sequence[Choice]) -> list[Choice]:
    """Return the systems that no other dominates, the cheapest first."""
    kept = []
    for choice in choices:
        if not any(other.dominates(choice) for other in choices):
            kept.append(choice)
    return sorted(kept, key=lambda choice: choice.price)


def _drawing(choices: Sequence[Choice], label: str, name: str) -> Markup:
    cost, best = choices[0].cost, front(choices)
    horizontal = Scale.of(_logarithms(choices), LEFT, WIDE - RIGHT)
    vertical = Scale.of([choice.quality for choice in choices], BOTTOM, TOP + 14, space=0.1)
    drawing = Drawing(name, f"{label} against {cost.quantity}", width=WIDE)
    drawing.left_axis(vertical, label)
    more = "more" if cost.unit.endswith("/s") else "less"
    _logarithmic_axis(drawing, horizontal, f"{cost.quantity}, {cost.unit or 'number'} (logarithmic; {more} is better)")
    places = dict[str, Point]()
    for choice in choices:
        places[choice.name] = (horizontal(math.log10(choice.cost.value or 1)), vertical(choice.quality))
    corners = list(_steps([places[choice.name] for choice in best]))
    drawing.add(path(corners, class_="front", fill="none", stroke="currentColor", stroke_width=1.5))
    lines = [corners, *(_whisker(choice, places[choice.name], horizontal) for choice in choices)]
    beginnings = placed([(places[choice.name], choice.name) for choice in choices], lines, WIDE - RIGHT)
    for choice, (x, y) in zip(choices, beginnings, strict=True):
        _draw(drawing, choice, places[choice.name], horizontal, opacity=None if choice in best else PALE)
        drawing.named(choice.name, x, y, "name" if choice in best else "tick")
        if abs(y - places[choice.name][1]) > 1.5 * LINE:
            drawing.line(places[choice.name], (x, y - LINE / 3), "grid")
        drawing.describe(f"{choice.name}: {choice.quality:.1f} at {choice.cost.text}")
    return drawing.finished(BOTTOM)


def _logarithms(choices: Sequence[Choice]) -> Iterator[float]:
    """Yield the logarithms of all costs and of the ends of their intervals."""
    for choice in choices:
        for value in (choice.cost.low, choice.cost.value, choice.cost.high):
            if value:
                yield math.log10(value)


def _whisker(choice: Choice, place: Point, horizontal: Scale) -> list[Point]:
    """Return the ends of the line that shows the interval of a cost; nothing without an interval."""
    if not choice.cost.low or not choice.cost.high:
        return []
    return [(horizontal(math.log10(end)), place[1]) for end in (choice.cost.low, choice.cost.high)]


def _draw(drawing: Drawing, choice: Choice, place: Point, horizontal: Scale, *, opacity: str | None) -> None:
    """Draw the marker of a system with the interval of its cost."""
    x, y = place
    title = f"{choice.name}: {choice.quality:.1f}, {choice.cost.text} {choice.cost.interval_text}".rstrip()
    parts = [element("title", title)]
    whisker = _whisker(choice, place, horizontal)
    if whisker:
        parts.append(path(whisker, class_=f"l {style(choice.number)}", stroke_width=1))
    parts.append(marker(x, y, choice.number, 5))
    drawing.add(element("g", *parts, opacity=opacity))


def _steps(points: Sequence[Point]) -> Iterator[Point]:
    """Yield the corners of the front: the quality of a point holds until the next better one."""
    last: Point | None = None
    for x, y in points:
        if last is not None:
            yield x, last[1]
        yield x, y
        last = (x, y)


def _logarithmic_axis(drawing: Drawing, scale: Scale, label: str) -> None:
    """Draw a horizontal axis whose scale has the logarithms of values."""
    for value in ticks(10**scale.low, 10**scale.high):
        x = scale(math.log10(value))
        drawing.line((x, TOP + 14), (x, BOTTOM), "grid")
        tick = element("text", _tick(value), x=x, y=BOTTOM + 16, text_anchor="middle", class_="tick")
        drawing.add(tick)
    middle = (scale.start + scale.end) / 2
    name = element("text", label, x=middle, y=BOTTOM + 34, text_anchor="middle", class_="axis")
    drawing.add(name)


def _tick(value: float) -> str:
    """Write a round value without zeros at its end: 1.5M, 200, 0.01."""
    number, _, prefix = comparison.prefixed(value).partition(" ")
    return f"{float(number):g}{prefix}"


def ticks(low: float, high: float) -> list[float]:
    """Return round values between two ends of a logarithmic axis: as fine as `MOST_TICKS` allows.

    An axis that is too short for two of them has equally spaced ones.
    """
    first = math.floor(math.log10(low))
    last = math.ceil(math.log10(high))
    values = list[float]()
    for digits in ((1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 5), (1, 3), (1,)):
        values = []
        for power in range(first, last + 1):
            unit = 10.0**power
            values += [digit * unit for digit in digits if low <= digit * unit <= high]
        if len(values) <= MOST_TICKS:
            break
    return values if len(values) > 1 else list(Scale(low, high, 0, 1).ticks(4))


def placed(points: Sequence[tuple[Point, str]], lines: Sequence[Sequence[Point]], right: float) -> list[Point]:
    """Choose where names begin, so that no name covers another one, a marker or a line, and none leaves the drawing.

    A name stands right or left of its marker, or as many lines higher or lower as are needed.
    """
    taken = [(x - 6, y - 6, x + 6, y + 6) for (x, y), _ in points]
    for (x, y), (further, lower) in chain.from_iterable(map(pairwise, lines)):
        taken.append((min(x, further) - 1, min(y, lower) - 1, max(x, further) + 1, max(y, lower) + 1))
    chosen = list[Point]()
    for (x, y), text in points:
        width = LETTER * min(len(text), LONGEST_LABEL)
        for begin, base in _candidates(x, y, width):
            box = (begin, base - LINE + 3, begin + width, base + 3)
            is_inside = begin >= LEFT and box[2] <= right and box[1] >= TOP + 4 and box[3] <= BOTTOM
            if is_inside and not any(_overlap(box, other) for other in taken):
                break
        taken.append(box)
        chosen.append((begin, base))
    return chosen


def _candidates(x: float, y: float, width: float) -> Iterator[Point]:
    for step in range(40):
        lines = (step + 1) // 2 * (1 if step % 2 else -1)
        base = y + 4 + lines * LINE
        yield x + 9, base
        yield x - 9 - width, base
        yield x - width / 2, base


Box = tuple[float, float, float, float]
"""Left, top, right and bottom of a rectangle."""


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
