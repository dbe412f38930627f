"""The cards of a task: its restarts, curves, grid and slices as charts, or in words where all values are equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

from benchrunner_report.drawings.chart import Axis, Chart
from benchrunner_report.drawings.groups import curve, curves, dot, dots
from benchrunner_report.drawings.matrix import Matrix, shaded
from benchrunner_report.drawings.scale import is_constant
from benchrunner_report.drawings.series import SHAPES
from benchrunner_report.section import Section


@final
@dataclass(frozen=True)
class Card:
    """A part of a page with drawings, matrices or words."""

    title: str
    about: str
    charts: Sequence[Chart] = ()
    matrices: Sequence[Matrix] = ()
    words: str = ""
    """What is said instead of a chart."""
    legend: Sequence[str] = ()
    """Names of the series, in their order, where these are no systems."""

    @property
    def is_wide(self) -> bool:
        """Whether the card takes the whole width of the page."""
        drawings = sum(len(chart.panels) for chart in self.charts)
        return drawings > 1 or len(self.matrices) > 1 or any(len(part.columns) > SHAPES for part in self.matrices)


def cards(section: Section) -> Iterator[Card]:
    """Yield the cards of a task that have something to show."""
    yield _restarts(section)
    yield from _curves(section)
    yield from _grid(section)
    yield from _trials(section)
    yield from _slices(section)
    yield from _answers(section)


def _restarts(section: Section) -> Card:
    """Show the restarts of each system, with the mean and its interval over other examples."""
    about = "small: restarts of the chosen grid point; large: their mean; bar: 95% interval over other examples"
    groups = []
    for place, name in enumerate(section.systems):
        shown = section.entry(name).shown()
        restarts = shown["restarts"]
        listed = ", ".join(f"{value:.1f}" for value in restarts)
        groups.append(dot(name, place, place, shown["mean"], shown["interval_over_examples"], restarts, f" ({listed})"))
    chart = dots(f"{section.anchor}-restarts", f"Restarts on {section.task.name}", Axis(section.term.metric), groups)
    values = [value for value, _ in chart.points]
    if is_constant(values):
        equal = f"All restarts of all systems have the same score, {max(values, default=0.0):.1f}."
        return Card("Restarts", "", words=equal if values else "No restart has a score.")
    majority = section.majority
    lowest, highest = min(values), max(values)
    if majority is not None and lowest - majority <= max(1.5 * (highest - lowest), 5):  # else it needs too much room
        chart = replace(chart, reference=("majority", majority))
    return Card("Restarts", about, [chart])


def _curves(section: Section) -> Iterator[Card]:
    """Show the training losses over the steps, for systems with logs."""
    if not section.curves:
        return
    if max(len(loss.points) for loss in section.curves) < 2:
        yield Card("Learning curves", "training loss", words="The fits have too few steps for a curve.")
        return
    groups = [
        curve(loss.system, section.systems.index(loss.system), loss.points, marks_all=False) for loss in section.curves
    ]
    title = f"Learning curves on {section.task.name}"
    restarts = max(loss.restarts for loss in section.curves)
    mean = f", the mean of {restarts} restarts" if restarts > 1 else ""
    chart = curves(f"{section.anchor}-curves", title, Axis("step"), "loss", groups)
    yield Card("Learning curves", f"training loss{mean}", [chart])


def _trials(section: Section) -> Iterator[Card]:
    """Show the best score to expect after 1, 2, ... trials, from two trials on."""
    about = "best dev score to expect after a number of trials, which are grid points with the mean over their fits"
    groups = []
    is_flat = True
    for series, name in enumerate(section.systems):
        values = [value * section.scale for value in section.entry(name).expected or ()]
        if len(values) > 1:
            groups.append(curve(name, series, list(enumerate(values, start=1))))
            is_flat = is_flat and is_constant(values)
    if is_flat and groups:
        words = "The same after any number of trials, because all grid points of a system have the same score."
        yield Card("Expected best", about, words=words)
    elif groups:
        title = f"Expected best of trials on {section.task.name}"
        chart = curves(f"{section.anchor}-trials", title, Axis("trials"), section.term.metric, groups)
        yield Card("Expected best", about, [chart])


def _grid(section: Section) -> Iterator[Card]:
    """Show every grid point with its restarts, if there are several."""
    columns = dict[str, dict[str, float]]()
    chosen = []
    for point in section.grid:
        if point.mean is not None:
            columns.setdefault(point.label, {})[point.system] = point.mean
            if point.is_chosen:
                chosen.append((point.label, point.system))
    if len(columns) > 1:
        about = f"mean {section.term.metric} of the restarts at each grid point; bold: chosen"
        yield Card("Grid", about, matrices=[shaded("system", columns, chosen)])


def _slices(section: Section) -> Iterator[Card]:
    """Show the mean grade of each system in the rows of each label, and in those that stand in train."""
    kinds = (
        ("By label", "by the gold label", section.by_label),
        ("Seen in train", "by what is in train", section.by_train),
    )
    for title, by, parts in kinds:
        columns = {f"{part.name} ({part.rows:,})": part.means for part in parts}
        if columns:
            about = f"{section.graded}, {by}; in parentheses the number of rows"
            yield Card(title, about, matrices=[shaded("system", columns)])


def _answers(section: Section) -> Iterator[Card]:
    """Show the confusion matrices."""
    if section.confusions:
        about = f"lines: gold labels; columns: answers; mean number of {section.counted} over restarts"
        yield Card("Confusion", about, matrices=section.confusions)
