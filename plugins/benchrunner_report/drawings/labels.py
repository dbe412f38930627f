"""Where the names of markers stand in a drawing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

Place = tuple[float, float]
"""Coordinates of a drawing: x from the left, y from the top."""
LINE = 13.0
"""Height of a line of text, in units of the drawing."""
STEPS = 40
"""Number of heights that are tried for a name: its own, a line lower, a line higher, two lines lower, ..."""
Box = tuple[float, float, float, float]
"""Left, top, right and bottom of a rectangle."""


def placed(markers: Iterable[tuple[Place, float]], taken: Sequence[Box], area: Box) -> list[Place]:
    """Choose where names begin, so that no name covers another name or what is taken, or leaves the area.

    `markers` are the places of markers, with the width of the name of each. A name stands right of, left of or over
    its marker, or as many lines higher or lower as are needed.
    """
    left, top, right, bottom = area
    covered = list(taken)
    beginnings = []
    for (x, y), width in markers:
        for step, begin in product(range(STEPS), (x + 9, x - 9 - width, x - width / 2)):
            lines = (step + 1) // 2
            base = y + 4 + (lines if step % 2 else -lines) * LINE
            box = (begin, base - LINE + 3, begin + width, base + 3)
            is_inside = left <= box[0] and top <= box[1] and box[2] <= right and box[3] <= bottom
            if is_inside and not any(_overlap(box, other) for other in covered):
                break
        covered.append(box)
        beginnings.append((round(begin, 1), round(base, 1)))
    return beginnings


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
