"""How series differ in a drawing: colour, dashes and the outline of their markers; and the numbers beside ticks."""

from __future__ import annotations

from benchrunner.results import comparison

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
    """Write the number beside a tick of an axis, with a prefix from 10,000 on: 2000, 12.3k, 3M."""
    if abs(value) < 10_000:
        return f"{value:.4g}"
    number, _, prefix = comparison.prefixed(value).partition(" ")
    return f"{float(number):g}{prefix}"
