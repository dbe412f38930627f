"""Functions that draw SVG elements. Every attribute and every text is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

Place = tuple[float, float]
"""Coordinates of a drawing: x from the left, y from the top."""
SHAPES = 6
"""Number of shapes, of dashes and of colours. 36 series differ in at least one of shape and colour."""
POLYGONS: Mapping[int, tuple[int, float]] = {1: (4, 45), 2: (3, -90), 3: (4, -90), 4: (3, 90), 5: (6, 0)}
"""Shape -> the number of its corners, and the angle of the first in degrees. Shape 0 is a circle."""


def element(name: str, *children: str | Markup, **attributes: str | float) -> Markup:
    """Return an SVG element. In the name of an attribute, `_` stands for `-` and `class_` for `class`.

    Empty attributes are left out.
    """
    from markupsafe import Markup, escape

    written = ""
    for key, value in attributes.items():
        if value != "":
            spelled = key.rstrip("_").replace("_", "-")
            written += f' {spelled}="{escape(_number(value))}"'
    inside = "".join(map(escape, children))
    return Markup(f"<{name}{written}>{inside}</{name}>")  # every part of this text is escaped above


def _number(value: str | float) -> str:
    """Write a coordinate with one decimal at most."""
    if isinstance(value, str):
        return value
    return f"{round(value, 1):g}"


def style(series: int) -> str:
    """Return the classes of a series in the style sheet: its colour and its dashes."""
    return f"s{series % SHAPES} d{shape_of(series)}"


def shape_of(series: int) -> int:
    """Return the number of a series' shape and dashes; the next six series have other shapes for the same colours."""
    return (series + series // SHAPES) % SHAPES


def marker(place: Place, series: int, size: float, kind: str = "") -> Markup:
    """Draw a marker. Series differ in shape as well as in colour, for readers who cannot tell the colours apart."""
    x, y = place
    names = f"m {style(series)} {kind}".strip()
    if shape_of(series) not in POLYGONS:
        return element("circle", cx=x, cy=y, r=size, class_=names)
    count, first = POLYGONS[shape_of(series)]
    corners = []
    for corner in range(count):
        angle = math.radians(first + 360 * corner / count)
        corners.append(f"{x + 1.25 * size * math.cos(angle):.1f},{y + 1.25 * size * math.sin(angle):.1f}")
    return element("polygon", points=" ".join(corners), class_=names)


def line(places: Iterable[Place], kind: str) -> Markup:
    """Draw a line through places."""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return element("polyline", points=points, class_=kind)


def text(shown: str, place: Place, kind: str, *, anchor: str = "", longest: float = math.inf) -> Markup:
    """Write a text of at most `longest` characters; of a longer text the end, with the whole text as its title.

    Paths and names with an owner usually differ at the end.
    """
    x, y = place
    parts: list[str | Markup] = [shown]
    if len(shown) > longest:
        parts = [element("title", shown), f"…{shown[int(1 - longest) :]}"]
    return element("text", *parts, x=x, y=y, text_anchor=anchor, class_=kind)


def short(value: float) -> str:
    """Write the number beside a tick of an axis, with k for thousands, M for millions and so on: 20k, 3M."""
    for unit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        is_short = unit > 1e3 or value % unit == 0  # 1.5M, but 1500
        if abs(value) >= unit * 10 or (abs(value) >= unit and is_short):
            return f"{value / unit:.3g}{name}"
    return f"{value:.4g}"
