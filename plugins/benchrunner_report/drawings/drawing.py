"""A drawing of a report: its parts with axes, and its size, title and description for screen readers."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from benchrunner_report.drawings.svg import Axis, Point, Scale, element, short

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, LEFT, RIGHT, TOP = 400.0, 44.0, 14.0, 16.0
"""Size of a drawing and its margins, in units of the drawing. Pages scale it to their columns."""
NAMES = 140.0
"""Room for names on the left of a drawing that has a line for each."""
BELOW = 40.0
"""Height of the ticks and the label below the bottom axis."""
LETTER = 6.2
"""Width of a letter of a name, in units of the drawing; wider than most fonts have it."""
LONGEST_LABEL = 23
"""Largest number of characters of a name beside a drawing. The title of a longer one has the whole text."""


@final
class Drawing:
    """Collects the parts of a drawing, and the sentences about them."""

    def __init__(self, name: str, title: str, *, width: float = WIDTH) -> None:
        """`name` is the beginning of the ids in the drawing."""
        self._name = name
        self._title = title
        self.width = width
        self._parts: list[Markup] = []
        self._about: list[str] = []

    @property
    def right(self) -> float:
        """The right end of the axes."""
        return self.width - RIGHT

    def add(self, part: Markup) -> None:
        """Add a part above all parts before it."""
        self._parts.append(part)

    def describe(self, sentence: str) -> None:
        """Add a sentence to the description."""
        self._about.append(sentence)

    def line(self, start: Point, end: Point, kind: str) -> None:
        """Draw a straight line."""
        (x1, y1), (x2, y2) = start, end
        self.add(element("line", x1=x1, x2=x2, y1=y1, y2=y2, class_=kind))

    def text(self, text: str, x: float, y: float, kind: str, *, anchor: str | None = None) -> None:
        """Write a text of the drawing's own."""
        self.add(element("text", text, x=x, y=y, text_anchor=anchor, class_=kind))

    def named(self, text: str, x: float, y: float, kind: str = "name", *, longest: int = LONGEST_LABEL) -> None:
        """Write a name, cut to its last characters, with the whole name as its title.

        Paths and names with an owner usually differ at the end.
        """
        shown = text if len(text) <= longest else f"…{text[1 - longest :]}"
        self.add(element("text", element("title", text), shown, x=x, y=y, class_=kind))

    def titled(self, title: str, *parts: Markup) -> None:
        """Draw parts with the title that a mouse over them shows."""
        self.add(element("g", element("title", title), *parts))

    def bottom_axis(self, scale: Axis, top: float, bottom: float, label: str, *, most: int = 6) -> None:
        """Draw a horizontal axis, with a line of the grid at each tick."""
        for value in scale.ticks(most):
            x = scale(value)
            self.line((x, top), (x, bottom), "grid")
            self.text(short(value), x, bottom + 16, "tick", anchor="middle")
        middle = (scale.start + scale.end) / 2
        self.text(label, middle, bottom + 34, "axis", anchor="middle")

    def left_axis(self, scale: Scale, label: str, *, most: int = 5) -> None:
        """Draw a vertical axis, with a line of the grid at each tick."""
        for value in scale.ticks(most):
            y = scale(value)
            self.line((LEFT, y), (self.right, y), "grid")
            self.text(short(value), LEFT - 6, y + 4, "tick", anchor="end")
        self.text(label, 0, TOP + 2, "axis")

    def finished(self, bottom: float) -> Markup:
        """Return the SVG element; `bottom` is the height of its bottom axis, below which are only the labels."""
        title = f"{self._name}-t"
        description = f"{self._name}-d"
        return element(
            "svg",
            element("title", self._title, id=title),
            element("desc", "; ".join(self._about), id=description),
            *self._parts,
            viewBox=f"0 0 {self.width:g} {bottom + BELOW:g}",
            role="img",
            aria_labelledby=f"{title} {description}",
            class_="chart broad" if self.width > WIDTH else "chart",
        )
