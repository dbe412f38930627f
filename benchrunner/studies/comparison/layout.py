"""The table of a study as texts, before it is written in some format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, final

from benchrunner.leaderboards.published import PublishedFigure
from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.metrics import Score
from benchrunner.studies.cells import ABSENT, Figure
from benchrunner.studies.comparison.marks import Marks
from benchrunner.studies.result import Result
from benchrunner.studies.study import Column, Place, Study, System, row_name
from benchrunner.tasks.task import Task

NOTHING_PUBLISHED = PublishedChoice()
WIDTH, MOST_COLUMNS, TASK_WIDTH = 100, 2, 16
"""Up to two systems have a column each, if the table then fits into 100 characters, with folded names and 16 for the
names of tasks. Otherwise the systems stand below each other."""
WIDTH_OF_SYSTEMS = 140
"""Characters of a table with a row for each system, if standard output is not a terminal."""


@final
@dataclass(frozen=True)
class Row:
    """One row of a table with tasks down: a metric on a split, or an average."""

    name: str
    metric: str
    """Empty for an average."""
    baseline: str
    figures: tuple[tuple[str, ...], ...]
    """For each system the parts of a text: the best restart, the mean with its deviation, the interval, the marks."""
    beside: Mapping[str, str]
    """What the row shows, as JSON: task, split and metric, or the name of an average."""
    published: Sequence[PublishedFigure]


@final
@dataclass(frozen=True)
class Line:
    """One line of a table."""

    cells: tuple[str, ...]
    kind: Literal["score", "published"] = "score"
    begins_group: bool = False
    """Whether a rule stands above the line."""


@final
@dataclass(frozen=True)
class Layout:
    """A table as texts."""

    headers: tuple[str, ...]
    """Headers of the columns; lines are separated by a line break."""
    numeric: tuple[bool, ...]
    """Whether a column is aligned to the right."""
    lines: tuple[Line, ...]
    title: str = "dev"
    width: int = WIDTH
    """Characters of a line if standard output is not a terminal."""
    may_fold: bool = False
    """Whether figures are folded if they do not fit into the width."""

    @property
    def widths(self) -> list[int]:
        """The characters of each column; of a header only the last line counts, because names are folded."""
        widths = []
        for number, header in enumerate(self.headers):
            texts = [header.split("\n")[-1], *(line.cells[number] for line in self.lines)]
            widths.append(max(map(len, texts)))
        return widths

    @property
    def borders(self) -> int:
        """The characters that a line has beside its cells."""
        return 3 * len(self.headers) + 1


def layout(result: Result, published: PublishedChoice, *, best: bool = False) -> Layout:
    """Lay out the table of a study.

    A table with tasks down has a column for each system while these fit, and otherwise a line for each. `best` shows
    the score of the selected restart too, which is optimistic, because dev selected it.
    """
    if result.study.systems_down:
        return _systems_down(result, best=best)
    rows = list(task_rows(result, published))
    if len(result.study.names) <= MOST_COLUMNS:
        wide = _wide_layout(result, rows, best=best)
        task_width, *widths = wide.widths
        if min(task_width, TASK_WIDTH) + sum(widths) + wide.borders <= WIDTH:
            return wide
    return _long_layout(result, rows, best=best)


def _systems_down(result: Result, *, best: bool) -> Layout:
    """Lay out systems as rows; the interval and a published figure stand below the measured figure.

    Rows of arms follow those of the systems; rows that are only published come last.
    """
    study = result.study
    lines = list[Line]()
    for system in study.systems:
        lines += _system_lines(result, system, best=best)
    for arm in study.arms:
        lines += _system_lines(result, System(arm, ""), best=best)
    for row in study.published_alone:
        figures = [_published_text(study, row.name, column) or ABSENT for column in study.columns]
        lines.append(Line((f"paper: {row.name}", *figures), "published", begins_group=True))
    headers = ["system"]
    for column in study.columns:
        where = f"\npaper: {column.published_on}" if column.published_on else ""
        headers.append(f"{column.name}{where}")
    numeric = (False, *[True] * len(study.columns))
    return Layout(tuple(headers), numeric, tuple(lines), "", WIDTH_OF_SYSTEMS, may_fold=True)


def _system_lines(result: Result, system: System, *, best: bool) -> Iterator[Line]:
    """Yield the lines of a system, each with a cell for every column of the study.

    The first line has the mean figures, or published figures of what was not measured. Below stand, where there are
    any, the figures of the selected restarts (with `best`), the intervals, and the published figures.
    """
    means = [system.name]
    bests = [""]
    intervals = [""]
    published = []
    marks = Marks.of(result)
    for column in result.study.columns:
        place = (system.name, column.name)
        published_text = _published_text(result.study, system.published_name, column)
        if place not in result.figures:  # only published
            means.append(published_text or ABSENT)
            bests.append("")
            intervals.append("")
            published.append("")
            continue
        best_text, mean, interval, mark = _parts(result, place, marks)
        means.append(f"{mean}{_count_text(result.figures[place])} {mark}".rstrip())
        bests.append(f"best {best_text}")
        intervals.append(interval)
        published.append(published_text)
    yield Line(tuple(means), begins_group=True)
    if best:
        yield Line(tuple(bests))
    if any(intervals):
        yield Line(tuple(intervals))
    name = f"paper: {system.published}" if system.published else ""
    if name or any(published):
        yield Line((name, *published), "published")


def _count_text(figure: Figure) -> str:
    """Say how many fits a figure is of."""
    if figure.members:
        return f" ({len(figure.members)} together)"
    return "" if figure.deviation is None else f" ({len(figure.values)})"


def _published_text(study: Study, row: str, column: Column) -> str:
    """Write a published figure so that nobody takes it for a measured one; empty if there is none."""
    figure = study.published_figure(row, column.name)
    return "" if figure is None else f"paper {figure:.{2 if column.figure else 1}f}"


def task_rows(result: Result, published: PublishedChoice) -> Iterator[Row]:
    """Yield a row for every column of a task, then a row for each average that has a value."""
    study, marks = result.study, Marks.of(result)
    tasks = {task.name: task for task in study.tasks}
    for column in study.columns:
        if column.task not in tasks:
            continue
        task = tasks[column.task]
        term = column.term(task)
        scale = next(metric.scale for metric in task.metrics if metric.name == term.metric)
        figures = [_parts(result, (system, column.name), marks) for system in study.names]
        yield Row(
            _row_name(task, term.split, study),
            term.metric,
            score_text(result.baseline.get(term), scale),
            tuple(figures),
            vars(term),
            published.beside_metric(task, term.split, term.metric),
        )
    yield from _average_rows(result, published)


def _average_rows(result: Result, published: PublishedChoice) -> Iterator[Row]:
    averages = [result.averages(system) for system in result.study.names]
    suites = {task.suite.name for task in result.study.tasks if task.suite is not None}
    for name in averages[0]:
        figures = []
        has_value = False
        for average in averages:
            best, mean = average[name]
            figures.append((score_text(Score(best), 100.0), score_text(Score(mean), 100.0), "", ""))
            has_value = has_value or best is not None or mean is not None
        if has_value:  # averages over tasks that are not in the study have none
            yield Row(name, "", "", tuple(figures), {"average": name}, published.beside_average(suites, name))


def _row_name(task: Task, split: str, study: Study) -> str:
    name = row_name(task, split, len(study.scored_splits(task)))
    return f"{name} by {task.method}" if task.method_reason and study.methods == () else name


def score_text(score: Score | None, scale: float) -> str:
    """Write a score with one decimal, or `ABSENT`."""
    return ABSENT if score is None else Figure(score, score, scale=scale).mean_text


def _parts(result: Result, place: Place, marks: Marks) -> tuple[str, str, str, str]:
    """Return the parts of a figure's text, as `Row.figures` has them."""
    figure, interval = result.figures[place], result.statistics.intervals.get(place)
    return (
        figure.text(figure.best.value),
        figure.mean_text,
        figure.interval_text(interval),
        marks.of_place(place),
    )


def _what(result: Result, *, best: bool) -> str:
    """Write what stands below the name of a system: which figures its column has."""
    fitting = result.study.fitting
    mean = "score" if fitting is not None and len(fitting.seeds) == 1 else "mean ± sd"
    return f"{'best ' * best}{mean} [95 %]"


def _wide_layout(result: Result, rows: Sequence[Row], *, best: bool) -> Layout:
    """Lay out a column for each system; published figures stand below the row that measures the same."""
    names, what = result.study.names, _what(result, best=best)
    headers = ["task", "metric", "majority"]
    if any(row.published for row in rows):
        headers[-1] = "majority,\npublished"
    columns = []
    for number, system in enumerate(names):
        headers.append(f"{system}\n{what}")
        parts = [row.figures[number] for row in rows]
        columns.append(_padded(parts, best=best))
    lines = []
    was_average = True
    for number, row in enumerate(rows):
        is_average = not row.metric
        figures = [column[number] for column in columns]
        cells = (row.name, row.metric, row.baseline, *figures)
        lines.append(Line(cells, begins_group=is_average and not was_average))
        was_average = is_average
        for system, text in _published_lines(row):
            cells = (system, "", text, *[""] * len(names))
            lines.append(Line(cells, "published"))
    numeric = (False, False, True, *[True] * len(names))
    return Layout(tuple(headers), numeric, tuple(lines))


def _long_layout(result: Result, rows: Sequence[Row], *, best: bool) -> Layout:
    """Lay out a line for each task and system; the majority and published figures stand below the systems."""
    study = result.study
    parts = [of_system for row in rows for of_system in row.figures]
    figures = iter(_padded(parts, best=best))
    lines: list[Line] = []
    for row in rows:
        is_first = True
        for system in study.names:
            names = (row.name, row.metric) if is_first else ("", "")
            cells = (*names, system, next(figures))
            lines.append(Line(cells, begins_group=is_first and bool(lines)))
            is_first = False
        if row.baseline:
            lines.append(Line(("", "", "  majority", row.baseline), "published"))
        for system, text in _published_lines(row):
            lines.append(Line(("", "", system, text), "published"))
    name = "backbone (method)" if len(study.methods) > 1 else "backbone"
    headers = ("task", "metric", name, _what(result, best=best))
    return Layout(headers, (False, False, False, True), tuple(lines))


def _published_lines(row: Row) -> Iterator[tuple[str, str]]:
    """Yield the name of each published system, indented, and the text of its figure."""
    for figure in row.published:
        yield f"  {figure.row.name}", f"{figure.measures.kind} {figure.as_text()}"


def _padded(texts: Sequence[tuple[str, ...]], *, best: bool) -> list[str]:
    """Join the parts of each text, so that equal parts of all texts stand below each other.

    The first part, the score of the selected restart, is left out unless `best` is true.
    """
    columns = list(zip(*texts, strict=True))
    if not best:
        columns = columns[1:]
    padded = [""] * len(texts)
    for number, column in enumerate(columns):
        width, is_last = max(map(len, column)), number == len(columns) - 1
        if width:
            for line, part in enumerate(column):
                aligned = part.ljust(width) if is_last else part.rjust(width)
                padded[line] = f"{padded[line]} {aligned}" if padded[line] else aligned
    return padded
