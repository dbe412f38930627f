"""Charts of lines: all in one drawing, or from seven lines on a small drawing for each, with the others in grey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from benchrunner_report.drawings.drawing import LEFT, LETTER, TOP, Drawing
from benchrunner_report.drawings.svg import (
    SHAPES,
    Axis,
    LogarithmicScale,
    Point,
    Scale,
    element,
    marker,
    path,
    short,
    style,
)

if TYPE_CHECKING:
    from markupsafe import Markup

BOTTOM, SMALL_BOTTOM, SMALL_WIDTH = 210.0, 100.0, 190.0
"""Where the bottom axis of a drawing is, and of a small drawing, whose width is the last number."""


@final
@dataclass(frozen=True)
class Line:
    """A line of a chart, with the values of its points."""

    name: str
    series: int
    points: Sequence[Point]
    bars: Sequence[tuple[float, float]] = ()
    """The ends of each point's interval; empty for a line without bars."""

    @property
    def values(self) -> list[float]:
        """The values that the chart must show."""
        values = [value for _, value in self.points]
        for ends in self.bars:
            values += ends
        return values


@final
@dataclass(frozen=True)
class LineChart:
    """Lines over the same axes."""

    name: str
    """Beginning of the ids in the drawings."""
    title: str
    across: str
    """Label of the horizontal axis."""
    upwards: str
    """Label of the vertical axis."""
    lines: Sequence[Line]
    marks_all: bool = True
    """Whether each point of a line has a marker, and not only the last."""
    is_logarithmic: bool = False
    """Whether equal factors are equally far on the horizontal axis."""

    def drawings(self) -> list[Markup]:
        """Draw the lines: in one drawing, or one for each line if a reader cannot tell so many apart."""
        if len(self.lines) <= SHAPES:
            drawing = Drawing(self.name, self.title)
            across, upwards = self._axes(drawing, BOTTOM)
            for line in self.lines:
                self._draw(drawing, line, across, upwards)
            return [drawing.finished(BOTTOM)]
        return [self._small(place) for place in range(len(self.lines))]

    def _axes(self, drawing: Drawing, bottom: float, *, most: int = 5) -> tuple[Axis, Scale]:
        """Draw the axes for all lines; return their scales."""
        places = list[float]()
        values = list[float]()
        for line in self.lines:
            places += [place for place, _ in line.points]
            values += line.values
        across: Axis = Scale.of(places, LEFT, drawing.right, space=0.03)
        if self.is_logarithmic:
            across = LogarithmicScale.of(places, LEFT, drawing.right)
        upwards = Scale.of(values, bottom, TOP + 12)
        drawing.bottom_axis(across, TOP + 12, bottom, self.across, most=most)
        drawing.left_axis(upwards, self.upwards if bottom == BOTTOM else "", most=most)
        return across, upwards

    def _small(self, place: int) -> Markup:
        """Draw one line, with all lines in grey below it: drawn once, in the first drawing, and shown in all."""
        line = self.lines[place]
        drawing = Drawing(f"{self.name}-{place}", f"{self.title}: {line.name}", width=SMALL_WIDTH)
        across, upwards = self._axes(drawing, SMALL_BOTTOM, most=3)
        shared = f"{self.name}-all"
        if place:
            drawing.add(element("use", href=f"#{shared}"))
        else:
            paths = []
            for other in self.lines:
                paths.append(path(_placed(other, across, upwards), class_="other"))
            drawing.add(element("g", *paths, id=shared))
        drawing.named(line.name, 0, TOP, longest=int(SMALL_WIDTH / LETTER))
        self._draw(drawing, line, across, upwards)
        return drawing.finished(SMALL_BOTTOM)

    def _draw(self, drawing: Drawing, line: Line, across: Axis, upwards: Scale) -> None:
        """Draw a line with its markers and bars."""
        points = _placed(line, across, upwards)
        parts = []
        for (x, _), (low, high) in zip(points, line.bars, strict=False):
            ends = (x, upwards(low)), (x, upwards(high))
            parts.append(path(ends, class_=f"deviation l {style(line.series)}"))
        parts.append(path(points, class_=f"curve l {style(line.series)}"))
        for x, y in points if self.marks_all else points[-1:]:
            parts.append(marker(x, y, line.series, 3.4))
        name = line.name or self.title
        drawing.titled(name, *parts)
        (start, first), (end, last) = line.points[0], line.points[-1]
        drawing.describe(f"{name}: {first:.4g} at {short(start)} to {last:.4g} at {short(end)}")


def _placed(line: Line, across: Axis, upwards: Scale) -> list[Point]:
    """Return the points of a line as coordinates."""
    return [(across(place), upwards(value)) for place, value in line.points]
