"""Where everything of a chart stands in its drawings, which the template `chart.html` writes as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import final

from benchrunner_report.drawings.chart import Chart, Group, Mark
from benchrunner_report.drawings.labels import LINE, Box, Place, placed
from benchrunner_report.drawings.scale import Scale
from benchrunner_report.drawings.series import short

WIDTH, SMALL_WIDTH, BROAD_WIDTH = 400.0, 190.0, 600.0
"""Width of a drawing, of one of several drawings and of a broad one, in units that pages scale to their columns."""
LEFT, RIGHT, TOP = 44.0, 14.0, 24.0
"""Margins of drawings."""
RATIO = 0.525
"""The place of the bottom axis, as a share of the width."""
NAMES = 148.0
"""Room for names of ticks at the left."""
HEIGHT, ABOVE = 21.0, 13.0
"""Height of the line of a tick with a name, and of a name above its line."""
TICK = 75.0
"""Width for each tick of an axis."""
NEAREST = 26.0
"""Least distance of two ticks of the bottom axis, so that their numbers do not touch."""
LETTER = 6.2
"""Width of a letter of a name, in units of the drawing; wider than most fonts have it."""
LONGEST_LABEL = 23
"""Largest number of characters of a name beside a line or a marker."""


@final
class Frame:
    """The axes of a chart's drawings, and the places of its marks between them."""

    top = TOP
    longest = LONGEST_LABEL

    def __init__(self, chart: Chart) -> None:
        self.width = SMALL_WIDTH if chart.is_small else BROAD_WIDTH if chart.is_broad else WIDTH
        self.letters = int(self.width / LETTER)
        """Largest number of characters of a text in the drawing."""
        self.bottom, self.left, self.right = RATIO * self.width, LEFT, self.width - RIGHT
        self.names = chart.upwards.names
        self.above = ABOVE if max(map(len, self.names), default=0) > LONGEST_LABEL else 0.0
        """Height of the names above their lines; 0 where names stand at the left."""
        if self.names:
            self.bottom = TOP + (HEIGHT + self.above) * len(self.names)
            self.left = RIGHT if self.above else NAMES
        places = [place for place, _ in chart.points]
        values = [value for _, value in chart.points]
        if chart.reference is not None:
            places.append(chart.reference[1])
        self.x = Scale.of(chart.across, places, self.left, self.right)
        self.y = Scale.of(chart.upwards, values, self.bottom + self.above / 2, TOP + self.above / 2)
        self._most_ticks = max(3.0, self.width / TICK)

    @property
    def across(self) -> Iterator[tuple[float, str]]:
        """The ticks of the bottom axis with their texts."""
        last = -NEAREST
        for value in self.x.ticks(self._most_ticks):
            x = self.x(value)
            if x - last >= NEAREST:
                yield x, short(value)
                last = x

    @property
    def upwards(self) -> Iterator[tuple[float, str]]:
        """The ticks of the left axis with their texts."""
        ticks = self.y.ticks(self._most_ticks)
        return zip(map(self.y, ticks), self.names or map(short, ticks), strict=True)

    def middle(self, text: str, x: float) -> float:
        """Return where the middle of a text stands that should be at `x`, so that all of it is in the drawing."""
        half = LETTER * len(text) / 2
        return round(max(half, min(self.width - half, x)), 1)

    def places(self, mark: Mark) -> list[Place]:
        """Return the coordinates of the points of a mark."""
        return [(self.x(across), self.y(upwards)) for across, upwards in mark.points]

    def labels(self, groups: Sequence[Group]) -> Iterator[tuple[Group, Place, Place | None]]:
        """Yield each labelled group, the place where its name begins, and its marker if the name stands far from it."""
        labelled = [group for group in groups if group.is_labelled]
        markers = []
        for group in labelled:
            width = LETTER * min(len(group.name), LONGEST_LABEL)
            markers.append((self.places(group.marks[-1])[-1], width))
        area = (self.left, TOP, self.right, self.bottom)
        beginnings = placed(markers, list(self._covered(groups)), area)
        for group, (marker, _), beginning in zip(labelled, markers, beginnings, strict=True):
            is_near = abs(beginning[1] - marker[1]) <= 1.5 * LINE
            yield group, beginning, None if is_near else marker

    def _covered(self, groups: Sequence[Group]) -> Iterator[Box]:
        """Yield the boxes around markers and around the parts of lines."""
        for group in groups:
            for mark in group.marks:
                space = mark.size + 1
                places = self.places(mark)
                others = places if mark.size else places[1:]
                for (x, y), (further, lower) in zip(places, others, strict=False):
                    yield min(x, further) - space, min(y, lower) - space, max(x, further) + space, max(y, lower) + space
