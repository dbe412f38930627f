"""A drawing of a report: its parts with axes, and its size, title and description for screen readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, final

from benchrunner_report.svg import SHAPES, Point, Scale, element, line, marker, path, short

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, LEFT, RIGHT, TOP = 460.0, 48.0, 14.0, 12.0
"""Size of a drawing and its margins, in units of the drawing. Pages scale it to their columns."""
BELOW = 40.0
"""Height of the ticks and the label below the bottom axis."""
LONGEST_LABEL = 26
"""Largest number of characters of a label in a drawing. The title of a longer label has the whole text."""


@final
class Drawing:
    """Collects the parts of a drawing, and the sentences about them."""

    def __init__(self, name: str, title: str, *, width: float = WIDTH, kind: str = "chart") -> None:
        """`name` is the beginning of the ids in the drawing."""
        self._name = name
        self._title = title
        self._width = width
        self._kind = kind
        self._parts: list[Markup] = []
        self._about: list[str] = []

    def add(self, part: Markup) -> None:
        """Add a part above all parts before it."""
        self._parts.append(part)

    def describe(self, sentence: str) -> None:
        """Add a sentence to the description."""
        self._about.append(sentence)

    def line(self, start: Point, end: Point, kind: str) -> None:
        """Draw a straight line."""
        self.add(line(start, end, kind))

    def named(self, text: str, x: float, y: float, kind: str) -> None:
        """Write a name, cut to `LONGEST_LABEL`, with the whole name as its title."""
        self.add(element("text", element("title", text), _cut(text), x=x, y=y, class_=kind))

    def titled(self, title: str, *parts: Markup) -> None:
        """Draw parts with the title that a mouse over them shows."""
        self.add(element("g", element("title", title), *parts))

    def curve(
        self, title: str, points: Sequence[Point], series: int, marks: Sequence[Markup], below: Sequence[Markup] = ()
    ) -> None:
        """Draw the line of a series through points, with marks on it, and other parts below it."""
        self.titled(title, *below, path(points, class_=f"curve l s{series % SHAPES}"), *marks)

    def interval(self, low: float, high: float, y: float, series: int, clear: str = "") -> None:
        """Draw the interval of a series; `clear` is what tells it from others."""
        self.line((low, y), (high, y), f"interval l s{series % SHAPES}{clear}")

    def mark(self, title: str, x: float, y: float, series: int, size: float, kind: str = "") -> None:
        """Draw the marker of a series, with a title."""
        self.titled(title, marker(x, y, series, size, class_=kind))

    def bottom_axis(self, scale: Scale, top: float, bottom: float, label: str) -> None:
        """Draw a horizontal axis, with a line of the grid at each tick."""
        for value in scale.ticks():
            x = scale(value)
            self.line((x, top), (x, bottom), "grid")
            self.add(element("text", short(value), x=x, y=bottom + 16, text_anchor="middle", class_="tick"))
        middle = (scale.start + scale.end) / 2
        self.add(element("text", label, x=middle, y=bottom + 34, text_anchor="middle", class_="axis"))

    def left_axis(self, scale: Scale, label: str) -> None:
        """Draw a vertical axis, with a line of the grid at each tick."""
        for value in scale.ticks(5):
            y = scale(value)
            self.line((LEFT, y), (WIDTH - RIGHT, y), "grid")
            self.add(element("text", short(value), x=LEFT - 6, y=y + 4, text_anchor="end", class_="tick"))
        self.add(element("text", label, x=LEFT - 40, y=TOP + 2, class_="axis"))

    def finished(self, bottom: float) -> Markup:
        """Return the drawing, which has its bottom axis at this height."""
        title, description = f"{self._name}-t", f"{self._name}-d"
        return element(
            "svg",
            element("title", self._title, id=title),
            element("desc", "; ".join(self._about), id=description),
            *self._parts,
            viewBox=f"0 0 {self._width:g} {bottom + BELOW:g}",
            role="img",
            aria_labelledby=f"{title} {description}",
            class_=self._kind,
        )


def _cut(text: str) -> str:
    """Cut the beginning of a long name: paths and names with an owner usually differ at the end."""
    return text if len(text) <= LONGEST_LABEL else f"…{text[1 - LONGEST_LABEL :]}"
