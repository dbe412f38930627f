"""Functions that draw SVG elements. Every attribute and every text is escaped."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from markupsafe import Markup

Point = tuple[float, float]
"""Coordinates of a drawing: x from the left, y from the top."""
NEAREST = 26.0
"""Least distance of two ticks, so that their numbers do not touch."""
SHAPES = 6
"""Number of shapes, of dashes and of colours. 36 series differ in at least one of shape and colour."""
POLYGONS: Mapping[int, tuple[int, float]] = {2: (3, -90), 3: (4, -90), 4: (3, 90), 5: (6, 0)}
"""Shape -> the number of its corners, and the angle of the first in degrees. Shapes 0 and 1 are circle and square."""
TINY = 1e-9
"""Values that differ by this share of the largest, or less, are equal: the rest is rounding."""


def element(name: str, *children: str | Markup, **attributes: str | float | None) -> Markup:
    """Return an SVG element. In the name of an attribute, `_` stands for `-` and `class_` for `class`.

    Attributes with the value None are left out.
    """
    from markupsafe import Markup, escape

    written = ""
    for key, value in attributes.items():
        if value is not None:
            spelled = key.rstrip("_").replace("_", "-")
            written += f' {spelled}="{escape(_number(value))}"'
    inside = "".join(map(escape, children))
    return Markup(f"<{name}{written}>{inside}</{name}>")  # every part of this text is escaped above


def _number(value: str | float) -> str:
    """Write a coordinate with one decimal at most."""
    if isinstance(value, str):
        return value
    return f"{round(value, 1):g}"


def shape_of(series: int) -> int:
    """Return the number of a series' shape and dashes; the next six series have other shapes for the same colours."""
    return (series + series // SHAPES) % SHAPES


def style(series: int) -> str:
    """Return the classes of a series in the style sheet: its colour and its dashes."""
    return f"s{series % SHAPES} d{shape_of(series)}"


def marker(x: float, y: float, series: int, size: float = 4.5, *, class_: str = "") -> Markup:
    """Draw a marker. Series differ in shape as well as in colour, for readers who cannot tell the colours apart."""
    names = f"m {style(series)} {class_}".strip()
    shape = shape_of(series)
    if shape == 0:
        return element("circle", cx=x, cy=y, r=size, class_=names)
    if shape == 1:
        side = size * 1.75
        return element("rect", x=x - side / 2, y=y - side / 2, width=side, height=side, class_=names)
    corners, turn = POLYGONS[shape]
    return element("polygon", points=_polygon(x, y, size * 1.25, corners, turn), class_=names)


def _polygon(x: float, y: float, radius: float, corners: int, turn: float) -> str:
    """Write the corners of a regular polygon; `turn` is the angle of the first corner in degrees."""
    points = []
    for corner in range(corners):
        angle = math.radians(turn + 360 * corner / corners)
        points.append(f"{x + radius * math.cos(angle):.1f},{y + radius * math.sin(angle):.1f}")
    return " ".join(points)


def path(points: Iterable[Point], **attributes: str | float | None) -> Markup:
    """Draw a line through points."""
    steps = list[str]()
    for x, y in points:
        step = "L" if steps else "M"
        steps.append(f"{step}{x:.1f} {y:.1f}")
    return element("path", d=" ".join(steps), **attributes)


def is_constant(values: Collection[float]) -> bool:
    """Whether values differ by no more than rounding; also of no values."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return high - low <= TINY * max(abs(low), abs(high), 1.0)


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
        finite = list(filter(math.isfinite, values)) or [0.0, 1.0]
        low, high = min(finite), max(finite)
        margin = (high - low) * space
        if is_constant(finite):
            margin = abs(high) * 0.02 or 1.0
        return cls(low - margin, high + margin, start, end)

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 6) -> Iterator[float]:
        """Yield equally spaced round values within the scale, with at most `most` steps between its ends."""
        span = self.high - self.low
        size = 10 ** math.floor(math.log10(span / most))
        steps = [size * factor for factor in (1, 2, 5, 10, 20)]
        step = next(step for step in steps if span / step <= most)
        number = math.ceil(self.low / step)
        while number * step <= self.high:
            yield round(number * step, 10) + 0.0
            number += 1


@final
@dataclass(frozen=True)
class LogarithmicScale:
    """Maps the places of points to coordinates, equally far for equal factors; its ticks are the places."""

    places: tuple[float, ...]
    start: float
    end: float

    @classmethod
    def of(cls, places: Iterable[float], start: float, end: float) -> LogarithmicScale:
        """Return the scale of these places, which are all above 0."""
        return cls(tuple(sorted(set(places))), start, end)

    def __call__(self, value: float) -> float:
        low, high = math.log(self.places[0]), math.log(self.places[-1])
        share = (math.log(value) - low) / (high - low) if high > low else 0.5
        margin = 0.05 * (self.end - self.start)
        return self.start + margin + share * (self.end - self.start - 2 * margin)

    def ticks(self, most: int = 6) -> Iterator[float]:
        """Yield the places, at most `most` and one more, without those whose numbers would touch the one before."""
        last = -math.inf
        nearest = max(NEAREST, (self.end - self.start) / (most + 1))
        for place in self.places:
            if self(place) - last >= nearest:
                last = self(place)
                yield place


Axis = Scale | LogarithmicScale
"""A scale of the bottom axis of a drawing."""


def short(value: float) -> str:
    """Write the number beside a tick of an axis, with k for thousands, M for millions and G for billions: 20k, 3M."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        is_short = unit > 1e3 or value % unit == 0  # 1.5M, but 1500
        if abs(value) >= unit * 10 or (abs(value) >= unit and is_short):
            return f"{value / unit:.3g}{name}"
    return f"{value:.4g}"
