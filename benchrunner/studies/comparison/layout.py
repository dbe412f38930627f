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
    kind: Literal["score", "published"]
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
        if _width(wide) <= WIDTH:
            return wide
    return _long_layout(result, rows, best=best)


def _systems_down(result: Result, *, best: bool) -> Layout:
    """Lay out systems as rows; the interval and a published figure stand below the measured figure.

    Rows that are only published come last.
    """
    study, lines = result.study, list[Line]()
    for system in study.systems:
        lines += _system_lines(result, system, best=best)
    for row in study.published_alone:
        figures = [published_text(study, row.name, column) or ABSENT for column in study.columns]
        lines.append(Line((f"paper: {row.name}", *figures), "published", begins_group=True))
    headers = ["system"]
    for column in study.columns:
        where = f"\npaper: {column.published_on}" if column.published_on else ""
        headers.append(f"{column.name}{where}")
    numeric = (False, *[True] * len(study.columns))
    return Layout(tuple(headers), numeric, tuple(lines), "", WIDTH_OF_SYSTEMS, may_fold=True)


def _system_lines(result: Result, system: System, *, best: bool) -> Iterator[Line]:
    study = result.study
    figures, bests, intervals, published = list[str](), list[str](), list[str](), list[str]()
    for column in study.columns:
        place, beside = (system.name, column.name), published_text(study, system.published_name, column)
        figure = result.figures.get(place)
        figures.append(beside or ABSENT if figure is None else figure_text(result, place))
        bests.append("" if figure is None else f"best {figure.text(figure.best.value)}")
        intervals.append("" if figure is None else figure.interval_text(result.statistics.intervals.get(place)))
        published.append("" if figure is None else beside)
    yield Line((system.name, *figures), "score", begins_group=True)
    if best:
        yield Line(("", *bests), "score")
    if any(intervals):
        yield Line(("", *intervals), "score")
    name = f"paper: {system.published}" if system.published else ""
    if name or any(published):
        yield Line((name, *published), "published")


def figure_text(result: Result, place: Place) -> str:
    """Write a figure with deviation, number of restarts and the mark of a clear difference."""
    figure, mark = result.figures[place], Marks.of(result).of_place(place)
    text = figure.mean_text
    if figure.members:
        text += f" ({len(figure.members)} together)"
    elif figure.deviation is not None:
        text += f" ({len(figure.values)})"
    return f"{text} {mark}".rstrip()


def published_text(study: Study, row: str, column: Column) -> str:
    """Write a published figure so that nobody takes it for a measured one; empty if there is none."""
    figure = study.published_figure(row, column.name)
    return "" if figure is None else f"paper {figure:.{2 if column.figure else 1}f}"


def task_rows(result: Result, published: PublishedChoice) -> Iterator[Row]:
    """Yield a row for every column of a task, then a row for each average that has a value."""
    study, marks = result.study, Marks.of(result)
    tasks = {task.name: task for task in study.tasks}
    for column in study.columns:
        if column.task in tasks:
            task = tasks[column.task]
            term = column.term(task)
            scale = next(metric.scale for metric in task.metrics if metric.name == term.metric)
            yield Row(
                _row_name(task, term.split, study),
                term.metric,
                score_text(result.baseline.get(term), scale),
                tuple(_parts(result, (system, column.name), marks) for system in study.names),
                {"task": term.task, "split": term.split, "metric": term.metric},
                published.beside_metric(task, term.split, term.metric),
            )
    yield from _average_rows(result, published)


def _average_rows(result: Result, published: PublishedChoice) -> Iterator[Row]:
    averages = [result.averages(system) for system in result.study.names]
    suites = {task.suite.name for task in result.study.tasks if task.suite is not None}
    for name in averages[0]:
        figures, has_value = list[tuple[str, ...]](), False
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


def _parts(result: Result, place: Place, marks: Marks) -> tuple[str, ...]:
    figure = result.figures[place]
    interval = figure.interval_text(result.statistics.intervals.get(place))
    return figure.text(figure.best.value), figure.mean_text, interval, marks.of_place(place)


def _width(shown: Layout) -> int:
    """Compute the characters of a line on a terminal, with the names of tasks folded, and borders between columns."""
    columns = list(zip(*(line.cells for line in shown.lines), strict=True))
    cells = (max(map(len, column)) for column in columns)
    headers = (len(header.split("\n")[-1]) for header in shown.headers)
    task, *others = (max(pair) for pair in zip(cells, headers, strict=True))
    return min(task, TASK_WIDTH) + sum(others) + 3 * len(columns) + 1


def _what(result: Result, *, best: bool) -> str:
    """Say what the figures of a system are."""
    fitting = result.study.fitting
    mean = "score" if fitting is not None and len(fitting.seeds) == 1 else "mean ± sd"
    return f"{'best ' * best}{mean} [95 %]"


def _wide_layout(result: Result, rows: Sequence[Row], *, best: bool) -> Layout:
    study, columns = result.study, list[list[str]]()
    for number, _ in enumerate(study.names):
        columns.append(_padded([row.figures[number][not best :] for row in rows]))
    lines = list[Line]()
    for number, row in enumerate(rows):
        begins = not row.metric and number > 0 and bool(rows[number - 1].metric)
        figures = tuple(column[number] for column in columns)
        lines.append(Line((row.name, row.metric, row.baseline, *figures), "score", begins))
        for figure in row.published:
            text = f"{figure.measures.kind} {figure.as_text()}"
            lines.append(Line((f"  {figure.row.name}", "", text, *[""] * len(study.names)), "published"))
    reference = "majority,\npublished" if any(row.published for row in rows) else "majority"
    what = _what(result, best=best)
    headers = (f"{system}\n{what}" for system in study.names)
    return Layout(("task", "metric", reference, *headers), (False, False, *[True] * (1 + len(columns))), tuple(lines))


def _long_layout(result: Result, rows: Sequence[Row], *, best: bool) -> Layout:
    study, lines = result.study, list[Line]()
    padded = iter(_padded([parts[not best :] for row in rows for parts in row.figures]))
    for number, row in enumerate(rows):
        for at, system in enumerate(study.names):
            names = (row.name, row.metric) if at == 0 else ("", "")
            lines.append(Line((*names, system, next(padded)), "score", begins_group=at == 0 and number > 0))
        references = [("majority", row.baseline)] if row.baseline else []
        references += [(figure.row.name, f"{figure.measures.kind} {figure.as_text()}") for figure in row.published]
        lines += [Line(("", "", f"  {name}", text), "published") for name, text in references]
    name = "backbone (method)" if len(study.methods) > 1 else "backbone"
    return Layout(("task", "metric", name, _what(result, best=best)), (False, False, False, True), tuple(lines))


def _padded(texts: Sequence[tuple[str, ...]]) -> list[str]:
    """Join the parts of each text, so that equal parts of all texts stand below each other."""
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    padded, last = list[str](), len(widths) - 1
    for parts in texts:
        shown = list[str]()
        for number, (part, width) in enumerate(zip(parts, widths, strict=True)):
            if width:
                shown.append(part.ljust(width) if number == last else part.rjust(width))
        padded.append(" ".join(shown))
    return padded
