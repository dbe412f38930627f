"""The cards of a task: its restarts, curves, grid and slices as charts, or in words where all values are equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from benchrunner_report.drawings.dots import Dots, dots_chart
from benchrunner_report.drawings.lines import Line, LineChart
from benchrunner_report.drawings.matrix import Matrix, shaded
from benchrunner_report.drawings.svg import SHAPES, is_constant
from benchrunner_report.section import Section

if TYPE_CHECKING:
    from markupsafe import Markup


@final
@dataclass(frozen=True)
class Card:
    """A part of a page with drawings, matrices or words."""

    title: str
    about: str
    drawings: Sequence[Markup] = ()
    matrices: Sequence[Matrix] = ()
    words: str = ""
    """What is said instead of a chart."""
    legend: Sequence[str] = ()
    """Names of the series, in their order, where these are no systems."""

    @property
    def is_wide(self) -> bool:
        """Whether the card takes the whole width of the page."""
        several = len(self.drawings) > 1 or len(self.matrices) > 1
        return several or any(len(matrix.columns) > SHAPES for matrix in self.matrices)


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
    lines = []
    values = list[float]()
    for series, name in enumerate(section.systems):
        shown = section.entry(name).shown()
        restarts = shown["restarts"]
        listed = ", ".join(f"{value:.1f}" for value in restarts)
        dots = Dots(name, series, shown["mean"], shown["interval_over_examples"], restarts, f" ({listed})")
        values += dots.drawn
        lines.append(dots)
    if is_constant(values):
        equal = f"All restarts of all systems have the same score, {max(values, default=0.0):.1f}."
        return Card("Restarts", "", words=equal if values else "No restart has a score.")
    majority = _near_majority(section, values)
    chart = dots_chart(
        f"{section.anchor}-restarts",
        f"Restarts on {section.task.name}",
        section.term.metric,
        lines,
        None if majority is None else ("majority", majority),
    )
    return Card("Restarts", about, [chart])


def _near_majority(section: Section, values: Sequence[float]) -> float | None:
    """Return the score of the majority answer; None if it is far below all values, which need the scale's room."""
    if section.majority is None:
        return None
    lowest = min(values, default=0)
    spread = max(values, default=1.0) - lowest
    return section.majority if lowest - section.majority <= max(1.5 * spread, 5) else None


def _curves(section: Section) -> Iterator[Card]:
    """Show the training losses over the steps, for systems with logs."""
    lines = []
    for curve in section.curves:
        lines.append(Line(curve.system, section.systems.index(curve.system), curve.points))
    if not lines:
        return
    if max(len(line.points) for line in lines) < 2:
        yield Card("Learning curves", "training loss", words="The fits have too few steps for a curve.")
        return
    chart = LineChart(
        f"{section.anchor}-curves",
        f"Learning curves on {section.task.name}",
        "step",
        "loss",
        lines,
        marks_all=False,
    )
    restarts = max(curve.restarts for curve in section.curves)
    mean = f", the mean of {restarts} restarts" if restarts > 1 else ""
    yield Card("Learning curves", f"training loss{mean}", chart.drawings())


def _trials(section: Section) -> Iterator[Card]:
    """Show the best score to expect after 1, 2, ... trials, from two trials on."""
    about = "best dev score to expect after a number of trials, which are grid points with the mean over their fits"
    lines = []
    is_flat = True
    for series, name in enumerate(section.systems):
        values = [value * section.scale for value in section.entry(name).expected or ()]
        if len(values) > 1:
            lines.append(Line(name, series, list(enumerate(values, start=1))))
            is_flat = is_flat and is_constant(values)
    if is_flat and lines:
        words = "The same after any number of trials, because all grid points of a system have the same score."
        yield Card("Expected best", about, words=words)
    elif lines:
        title = f"Expected best of trials on {section.task.name}"
        chart = LineChart(f"{section.anchor}-trials", title, "trials", section.term.metric, lines)
        yield Card("Expected best", about, chart.drawings())


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
    """Show the mean grade of each system in the rows of each label."""
    about = f"{section.graded}, by the gold label; in parentheses the number of rows"
    columns = {f"{part.name} ({part.rows:,})": part.means for part in section.by_label}
    if columns:
        yield Card("By label", about, matrices=[shaded("system", columns)])


def _answers(section: Section) -> Iterator[Card]:
    """Show the confusion matrices."""
    if section.confusions:
        about = f"lines: gold labels; columns: answers; mean number of {section.counted} over restarts"
        yield Card("Confusion", about, matrices=section.confusions)
