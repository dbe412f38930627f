"""Draw a chart as SVG: a drawing for each panel, with its title and a description for screen readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, final

from benchrunner_report.drawings.chart import WIDTH, Chart, Group, Mark
from benchrunner_report.drawings.labels import LINE, Box, placed
from benchrunner_report.drawings.scale import Scale
from benchrunner_report.drawings.svg import Place, element, line, marker, short, style, text

if TYPE_CHECKING:
    from markupsafe import Markup

SMALL_WIDTH, LEFT, RIGHT, TOP = 190.0, 44.0, 14.0, 24.0
"""Width of one of several drawings, and the margins of drawings, in units of the drawing."""
RATIO = 0.525
"""The place of the bottom axis, as a share of the width."""
BELOW = 40.0
"""Height of the ticks and the label below the bottom axis."""
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


def draw(chart: Chart) -> list[Markup]:
    """Draw each panel of a chart as an SVG element."""
    frame = Frame(chart)
    axes = list(frame.axes())
    drawings = []
    for number, panel in enumerate(chart.panels):
        name = f"{chart.name}-{number}"
        title = f"{chart.title}: {panel.name}" if chart.is_small else chart.title
        said = [group.title for group in panel.groups if group.title]
        drawing = element(
            "svg",
            element("title", title, id=f"{name}-t"),
            element("desc", "; ".join(said), id=f"{name}-d"),
            *axes,
            text(panel.name, (0, TOP - 12), "name" if chart.is_small else "axis", longest=frame.letters),
            element("use", href=f"#{chart.name}") if number else frame.group(chart.behind, id=chart.name),
            *map(frame.group, panel.groups),
            *frame.labels(panel.groups),
            viewBox=f"0 0 {frame.width:g} {frame.bottom + BELOW:g}",
            role="img",
            aria_labelledby=f"{name}-t {name}-d",
            class_="chart broad" if frame.width > WIDTH else "chart",
        )
        drawings.append(drawing)
    return drawings


@final
class Frame:
    """The axes of a chart's drawings, and its marks between them."""

    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self.width = SMALL_WIDTH if chart.is_small else chart.width
        self.letters = self.width / LETTER
        """Largest number of characters of a text in the drawing."""
        self.bottom, left = RATIO * self.width, LEFT
        names = chart.upwards.names
        self._above = ABOVE if max(map(len, names), default=0) > LONGEST_LABEL else 0.0
        if names:
            self.bottom = TOP + (HEIGHT + self._above) * len(names)
            left = RIGHT if self._above else NAMES
        places = [place for place, _ in chart.points]
        values = [value for _, value in chart.points]
        if chart.reference is not None:
            places.append(chart.reference[1])
        self._x = Scale.of(chart.across, places, left, self.width - RIGHT)
        self._y = Scale.of(chart.upwards, values, self.bottom + self._above / 2, TOP + self._above / 2)

    def axes(self) -> Iterator[Markup]:
        """Draw the axes, with a line of the grid at each tick."""
        names, bottom = self._chart.upwards.names, self.bottom
        left, right = self._x.start, self._x.end
        most = max(3.0, self.width / TICK)
        last = -NEAREST
        for value in self._x.ticks(most):
            x = self._x(value)
            if x - last >= NEAREST:
                yield line([(x, TOP), (x, bottom)], "grid")
                yield text(short(value), (x, bottom + 16), "tick", anchor="middle")
                last = x
        yield text(self._chart.across.label, ((left + right) / 2, bottom + 34), "axis", anchor="middle")
        longest = self.letters if self._above else LONGEST_LABEL
        for number, value in enumerate(self._y.ticks(most)):
            y = self._y(value)
            yield line([(left, y), (right, y)], "grid")
            if names:
                yield text(names[number], (0, y + 4 - self._above), "name", longest=longest)
            else:
                yield text(short(value), (left - 6, y + 4), "tick", anchor="end")
        if self._chart.reference is not None:
            label, value = self._chart.reference
            x = self._x(value)
            half = LETTER * len(label) / 2
            yield line([(x, TOP), (x, bottom)], "reference")
            yield text(label, (max(half, min(self.width - half, x)), TOP - 4), "tick", anchor="middle")

    def group(self, group: Group, **attributes: str) -> Markup:
        """Draw the lines and markers of a group with its title."""
        parts = [element("title", group.title)]
        for mark in group.marks:
            places = self._places(mark)
            if mark.size:
                parts += [marker(place, group.series, mark.size, mark.kind) for place in places]
            else:
                parts.append(line(places, f"{mark.kind} l {style(group.series)}"))
        return element("g", *parts, class_=group.kind, **attributes)

    def _places(self, mark: Mark) -> list[Place]:
        return [(self._x(across), self._y(upwards)) for across, upwards in mark.points]

    def labels(self, groups: Sequence[Group]) -> Iterator[Markup]:
        """Write the names of groups beside their markers, with a line to a marker that is not near."""
        labelled = [group for group in groups if group.is_labelled]
        markers = []
        for group in labelled:
            width = LETTER * min(len(group.name), LONGEST_LABEL)
            markers.append((self._places(group.marks[-1])[-1], width))
        area = (self._x.start, TOP, self._x.end, self.bottom)
        beginnings = placed(markers, list(self._covered(groups)), area)
        for group, (place, _), (x, y) in zip(labelled, markers, beginnings, strict=True):
            if abs(y - place[1]) > 1.5 * LINE:
                yield line([place, (x, y - LINE / 3)], "grid")
            yield text(group.name, (x, y), f"name {group.kind}", longest=LONGEST_LABEL)

    def _covered(self, groups: Sequence[Group]) -> Iterator[Box]:
        """Yield the boxes around markers and around the parts of lines."""
        for group in groups:
            for mark in group.marks:
                space = mark.size + 1
                places = self._places(mark)
                others = places if mark.size else places[1:]
                for (x, y), (further, lower) in zip(places, others, strict=False):
                    yield min(x, further) - space, min(y, lower) - space, max(x, further) + space, max(y, lower) + space
