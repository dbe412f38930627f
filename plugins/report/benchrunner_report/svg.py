"""Functions that draw SVG elements. Every attribute and every text is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from markupsafe import Markup

Point = tuple[float, float]
"""Coordinates of a drawing: x from the left, y from the top."""
SHAPES = 6
"""Number of shapes and colours of series; further series repeat them."""


def element(name: str, *children: str | Markup, **attributes: str | float | None) -> Markup:
    """Return an SVG element. In the name of an attribute, `_` stands for `-` and `class_` for `class`.

    Attributes with the value None are left out.
    """
    from markupsafe import Markup, escape

    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(escape(child) for child in children)
    return Markup(f"<{name}{written}>{inside}</{name}>")  # every part of this text is escaped above


def _number(value: str | float) -> str:
    """Write a coordinate with one decimal at most."""
    if isinstance(value, str):
        return value
    return f"{round(value, 1):g}"


def marker(x: float, y: float, series: int, size: float = 4.5, *, class_: str = "") -> Markup:
    """Draw a marker. Series differ in shape as well as in colour, for readers who cannot tell the colours apart."""
    names = f"m s{series % SHAPES} {class_}".strip()
    shape = series % SHAPES
    if shape == 0:
        return element("circle", cx=x, cy=y, r=size, class_=names)
    if shape == 1:
        side = size * 1.75
        return element("rect", x=x - side / 2, y=y - side / 2, width=side, height=side, class_=names)
    corners = {2: (3, -90), 3: (4, -90), 4: (3, 90), 5: (6, 0)}[shape]
    return element("polygon", points=_polygon(x, y, size * 1.25, *corners), class_=names)


def _polygon(x: float, y: float, radius: float, count: int, turn: float) -> str:
    angles = (math.radians(turn + 360 * corner / count) for corner in range(count))
    return " ".join(f"{x + radius * math.cos(angle):.1f},{y + radius * math.sin(angle):.1f}" for angle in angles)


def line(start: Point, end: Point, kind: str) -> Markup:
    """Draw a straight line; `kind` is its class."""
    (x1, y1) = start
    (x2, y2) = end
    return element("line", x1=x1, x2=x2, y1=y1, y2=y2, class_=kind)


def path(points: Sequence[Point], **attributes: str | float | None) -> Markup:
    """Draw a line through points."""
    steps = " ".join(f"{'L' if number else 'M'}{x:.1f} {y:.1f}" for number, (x, y) in enumerate(points))
    return element("path", d=steps, **attributes)


@final
@dataclass(frozen=True)
class Scale:
    """Maps values to coordinates of a drawing."""

    low: float
    high: float
    start: float
    """Coordinate of `low`."""
    end: float
    """Coordinate of `high`."""

    @classmethod
    def of(cls, values: Iterable[float], start: float, end: float, *, space: float = 0.06) -> Scale:
        """Return a scale that shows all values with some space around them."""
        finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        margin = (high - low) * space or abs(high) * 0.02 or 1.0
        return cls(low - margin, high + margin, start, end)

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 6) -> Iterator[float]:
        """Yield equally spaced round values within the scale, with at most `most` steps between its ends."""
        span = self.high - self.low
        size = 10 ** math.floor(math.log10(span / most))
        step = next(size * factor for factor in (1, 2, 5, 10, 20) if span / (size * factor) <= most)
        number = math.ceil(self.low / step)
        while number * step <= self.high:
            yield round(number * step, 10) + 0.0
            number += 1


def short(value: float) -> str:
    """Write the number beside a tick of an axis, with k for thousands, M for millions and G for billions: 20k, 3M."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit * 10 or (abs(value) >= unit and value % unit == 0):
            return f"{value / unit:.3g}{name}"
    return f"{value:.4g}"
