"""Charts with a line for each system or task, which names it: a dot with an interval, and the values behind the dot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from benchrunner_report.drawings.drawing import LETTER, LONGEST_LABEL, NAMES, RIGHT, TOP, Drawing
from benchrunner_report.drawings.svg import Scale, marker, style

if TYPE_CHECKING:
    from markupsafe import Markup

HEIGHT, ABOVE = 21.0, 13.0
"""Height of a line, and of a name above it."""


@final
@dataclass(frozen=True)
class Dots:
    """A line of the chart."""

    name: str
    series: int
    value: float | None
    interval: Sequence[float] | None = None
    points: Sequence[float] = ()
    """Values behind the dot, such as those of restarts."""
    about: str = ""
    """What the title of the dot says beside its value."""
    kind: str = ""
    """Class of the dot: `unclear` or `chosen`."""

    @property
    def drawn(self) -> Iterator[float]:
        """The values that the chart must show."""
        if self.value is not None:
            yield self.value
        yield from self.points
        yield from self.interval or ()


def dots_chart(
    name: str,
    title: str,
    axis: str,
    lines: Sequence[Dots],
    reference: tuple[str, float] | None = None,
    *,
    limit: float = math.inf,
) -> Markup:
    """Draw the lines along one axis; `reference` is a value that all are compared with, with its name.

    Intervals beyond `limit`, on both sides of zero, end there.
    """
    values = list[float]()
    for dots in lines:
        values += [max(-limit, min(limit, value)) for value in dots.drawn]
    if reference is not None:
        values.append(reference[1])
    drawing = Drawing(name, title)
    above = ABOVE if max(len(dots.name) for dots in lines) > LONGEST_LABEL else 0.0
    scale = Scale.of(values, RIGHT if above else NAMES + 8, drawing.right)
    height = HEIGHT + above
    bottom = TOP + height * len(lines)
    drawing.bottom_axis(scale, TOP, bottom, axis, most=5)
    if reference is not None:
        label, value = reference
        drawing.line((scale(value), TOP), (scale(value), bottom), "reference")
        half = LETTER * len(label) / 2
        drawing.text(label, max(half, min(drawing.width - half, scale(value))), TOP - 4, "tick", anchor="middle")
    for place, dots in enumerate(lines):
        y = TOP + height * (place + 1) - HEIGHT / 2
        drawing.named(dots.name, 0, y + 4 - above, longest=int(drawing.width / LETTER) if above else LONGEST_LABEL)
        _draw(drawing, dots, y, scale)
    return drawing.finished(bottom)


def _draw(drawing: Drawing, dots: Dots, y: float, scale: Scale) -> None:
    said = dots.name
    if dots.interval is not None:
        low, high = dots.interval
        start = scale(max(low, scale.low))
        end = scale(min(high, scale.high))
        drawing.line((start, y), (end, y), f"interval l {style(dots.series)} {dots.kind}".strip())
    for point in dots.points:
        drawing.add(marker(scale(point), y, dots.series, 2.6, class_="point"))
    if dots.value is not None:
        said += f": {dots.value:.1f}{dots.about}"
        drawing.titled(said, marker(scale(dots.value), y, dots.series, 4.5, class_=dots.kind))
    drawing.describe(said)
