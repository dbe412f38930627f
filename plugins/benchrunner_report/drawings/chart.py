"""A chart as a value: panels with lines and markers over the same axes.

The macro `drawn` of the template `chart.html` draws it on every page of `page_environment`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

Point = tuple[float, float]
"""A place in a chart: a value of the horizontal axis and a value of the vertical axis."""


@final
@dataclass(frozen=True)
class Axis:
    """An axis of a chart."""

    label: str = ""
    """Text below a horizontal axis; names of panels stand above vertical ones."""
    limits: tuple[float, float] | None = None
    """The values at its ends, at which lines are cut; None for an axis that shows all values, with some space."""
    is_logarithmic: bool = False
    ticks: Sequence[float] = ()
    """Values of the ticks; empty for round values."""
    names: Sequence[str] = ()
    """Names of the ticks of a vertical axis; empty for their numbers."""


@final
@dataclass(frozen=True)
class Mark:
    """A line through points, or a marker at each of them."""

    kind: str
    """Class in the style sheet."""
    points: Sequence[Point]
    size: float = 0.0
    """Radius of the markers, in units of the drawing; 0 for a line."""


@final
@dataclass(frozen=True)
class Group:
    """Marks of one colour and shape, such as those of a system."""

    name: str
    about: str
    """What is said about the marks beside their name."""
    series: int
    """The number that decides on colour, shape and dashes."""
    marks: Sequence[Mark]
    kind: str = ""
    """Class in the style sheet, such as `pale`."""
    is_labelled: bool = False
    """Whether the name stands beside the last point of the last mark."""

    @property
    def title(self) -> str:
        """What a mouse over the marks shows, and what the description of the chart says."""
        return ": ".join(filter(None, (self.name, self.about)))


@final
@dataclass(frozen=True)
class Panel:
    """A drawing of a chart."""

    name: str
    """Text above the drawing: what the vertical axis shows, or what one of several panels shows."""
    groups: Sequence[Group]


@final
@dataclass(frozen=True)
class Chart:
    """Panels over the same axes; several panels are small."""

    name: str
    """Beginning of the ids in the drawings."""
    title: str
    across: Axis
    upwards: Axis
    panels: Sequence[Panel]
    behind: Group = Group("", "", 0, ())
    """What all panels show behind their groups."""
    reference: tuple[str, float] | None = None
    """A value of the horizontal axis that others are compared with, and its name."""
    is_broad: bool = False
    """Whether the drawing is broader than usual, with room for the names of groups."""

    @property
    def is_small(self) -> bool:
        """Whether there are several panels, which are small."""
        return len(self.panels) > 1

    @property
    def points(self) -> Iterator[Point]:
        """All points of all groups."""
        for panel in self.panels:
            for group in panel.groups:
                for mark in group.marks:
                    yield from mark.points
