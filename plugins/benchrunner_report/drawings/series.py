"""How series differ in a drawing: colour, dashes and the outline of their markers; and the numbers beside ticks."""

from __future__ import annotations

OUTLINES = (
    "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0Z",
    "M.88 .88H-.88V-.88H.88Z",
    "M0-1.25L1.08 .63H-1.08Z",
    "M0-1.25L1.25 0L0 1.25L-1.25 0Z",
    "M0 1.25L1.08-.63H-1.08Z",
    "M1.25 0L.63 1.08H-.63L-1.25 0L-.63-1.08H.63Z",
)
"""Markers of radius 1 as paths of SVG: circle, square, triangle, diamond, triangle that points down, hexagon."""
SHAPES = len(OUTLINES)
"""Number of shapes, of dashes and of colours. 36 series differ in at least one of shape and colour."""


def outline(series: int) -> str:
    """Return the outline of a series' marker, for readers who cannot tell the colours apart."""
    return OUTLINES[_shape(series)]


def look(series: int) -> str:
    """Return the classes of a series in the style sheet: its colour and its dashes."""
    return f"s{series % SHAPES} d{_shape(series)}"


def _shape(series: int) -> int:
    """Return the number of a series' shape and dashes; the next six series have other shapes for the same colours."""
    return (series + series // SHAPES) % SHAPES


def short(value: float) -> str:
    """Write the number beside a tick of an axis, with k for thousands, M for millions and so on: 20k, 3M."""
    for unit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        is_short = unit > 1e3 or value % unit == 0  # 1.5M, but 1500
        if abs(value) >= unit * 10 or (abs(value) >= unit and is_short):
            return f"{value / unit:.3g}{name}"
    return f"{value:.4g}"
