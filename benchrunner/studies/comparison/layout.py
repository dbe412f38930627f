"""Lays out the table of a study: what its rows and columns are, before it is written in some format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import final

from benchrunner.leaderboards.published import PublishedFigure
from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.metrics import Score
from benchrunner.studies.cells import ABSENT, Figure
from benchrunner.studies.comparison.legend import legend
from benchrunner.studies.comparison.table import WIDTH, Layout, Line, Shown
from benchrunner.studies.result import Result
from benchrunner.studies.study import Column, Study, System, axis_order, place_text, row_name

NOTHING_PUBLISHED, EVERYTHING = PublishedChoice(), Shown()
MOST_COLUMNS, TASK_WIDTH = 2, 16
"""Up to two systems have a column each, if the table then fits into a line, with folded names and 16 for the
names of tasks. Otherwise the systems are the rows."""


@final
@dataclass(frozen=True)
class Measured:
    """What a table shows of all systems, as a row or a column: a metric on a split, an average, a rank or a cost."""

    name: str
    texts: Mapping[str, tuple[str, str, str]]
    """System -> the parts of its text: the mean with its deviation, the interval, the marks."""
    metric: str = ""
    """Empty for an average; the unit of a cost."""
    column: str = ""
    """Name of the study's column; empty for an average, a rank or a cost."""
    baseline: str = ""
    """The score of the majority."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """What is shown, as JSON: task, split and metric, or the name of an average."""
    published: Sequence[PublishedFigure] = ()
    papers: Mapping[str, str] = field(default_factory=dict)
    """System -> the published figure that stands with the system."""
    papers_alone: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Name and kind of a row -> the figure of a published system that nothing was fitted for."""
    best: frozenset[str] = frozenset()
    """Systems that are best or tied for best."""

    @property
    def header(self) -> str:
        """The header of the column."""
        return f"{self.name}\n{self.metric}" if self.metric else self.name

    @cached_property
    def below(self) -> dict[tuple[str, str], str]:
        """Figures of what nothing was fitted for, below those of the systems: name and kind of the row -> text."""
        below = dict(self.papers_alone)
        if self.baseline:
            below["majority", ""] = self.baseline
        for figure in self.published:
            below[f"  {figure.row.name}", figure.measures.kind] = figure.as_text()
        return below


def layout(result: Result, published: PublishedChoice, shown: Shown = EVERYTHING) -> Layout:
    """Lay out the table of a study.

    One or two systems without a study file have a column each while these fit. Otherwise, and with costs, each system
    is a row.
    """
    study, meanings = result.study, tuple(legend(result))
    is_narrow = len(study.names) <= MOST_COLUMNS and not study.lines
    if not study.systems_down and is_narrow and not result.costs:
        wide = _wide_layout(result, list(task_rows(result, published)), shown)
        task_width, *widths = wide.widths
        if min(task_width, TASK_WIDTH) + sum(widths) + wide.borders <= WIDTH:
            return replace(wide, legend=meanings)
    return replace(_systems_down(result, _columns(result, published, shown), shown), legend=meanings)


def _columns(result: Result, published: PublishedChoice, shown: Shown) -> list[Measured]:
    """Return the columns of the table with a row for each system; a mean rank stands where there is no average."""
    if result.study.systems_down:
        return [*_columns_of_file(result), *_mean_ranks(result)]
    names = {column.name for column in result.study.shown_columns(every_metric=shown.every_metric)}
    columns = []
    has_average = False
    for row in task_rows(result, published):
        has_average |= not row.metric
        if not row.metric or row.column in names:
            columns.append(row)
    return columns if has_average else [*columns, *_mean_ranks(result)]


def _systems_down(result: Result, columns: Sequence[Measured], shown: Shown) -> Layout:
    """Lay out systems as rows; the interval and a published figure stand below the measured figure.

    Rows of arms follow those of the systems; rows of what nothing was fitted for come last. The last columns are costs.
    """
    study = result.study
    columns = [*columns, *cost_rows(result)]
    lines = list[Line]()
    rows = (*study.systems, *(System(arm, "") for arm in study.arms))
    axis = ""
    if study.lines.keys() == set(study.compared) and not study.published:
        axis = f"\nby {study.axis}"
        rows = tuple(System(name, "") for name in study.lines)
        columns = [part for column in columns for part in _by_place(column, study)]
    for system in rows:
        lines += _system_lines(system, columns, shown)
    if len(lines) == len(rows):  # one line for each system needs no rules
        lines = [replace(line, begins_group=not number) for number, line in enumerate(lines)]
    below = dict[tuple[str, str], None]()
    for column in columns:
        below |= dict.fromkeys(column.below)
    names = list(dict.fromkeys(name for name, _ in below))
    ordered = sorted(below, key=lambda row: (names.index(row[0]), row[1]))
    for number, (name, kind) in enumerate(ordered):
        figures = [column.below.get((name, kind), "") for column in columns]
        begins_group = study.systems_down or not number
        lines.append(Line((f"{name} {kind}".rstrip(), *figures), "published", begins_group))
    kind = "backbone (method)" if len(study.methods) > 1 else "backbone"
    kind = "system" if study.systems_down else kind
    headers = (f"{kind}{axis}", *(column.header for column in columns))
    title = "" if study.systems_down else f"dev, {_what(result, shown)}"
    return Layout(headers, (False, *[True] * len(columns)), tuple(lines), title)


def _by_place(column: Measured, study: Study) -> Iterator[Measured]:
    """Yield a column for each place on a figure's axis, with a row for each series.

    Published figures stand with the whole training set.
    """
    points = dict[float | None, dict[str, tuple[str, str, str]]]()
    for name, systems in study.lines.items():
        for at, system in systems.items():
            of_place = points.setdefault(at, {})
            of_place[name] = column.texts[system]
    for at in sorted(points, key=axis_order):
        below = column.below if at is None else {row: text for row, text in column.below.items() if not row[1]}
        yield Measured(column.header, points[at], place_text(at), papers_alone=below)


def _system_lines(system: System, columns: Sequence[Measured], shown: Shown) -> Iterator[Line]:
    """Yield the lines of a system, each with a cell for every column.

    The first line has the mean figures, or published figures of what was not measured. Below stand, where there are
    any, the intervals, and the published figures.
    """
    means = [system.name]
    intervals = [""]
    published = []
    marked = []
    for number, column in enumerate(columns, start=1):
        beside = column.papers.get(system.name, "")
        published_alone = (beside or ABSENT, "", "")
        mean, interval, marks = column.texts.get(system.name, published_alone)
        means.append(f"{mean} {marks}".rstrip())
        intervals.append(interval)
        published.append(beside if system.name in column.texts else "")
        if system.name in column.best:
            marked.append(number)
    yield Line(tuple(means), begins_group=True, best=tuple(marked))
    if shown.intervals and any(intervals):
        yield Line(tuple(intervals))
    name = f"paper: {system.published}" if system.published else ""
    if name or any(published):
        yield Line((name, *published), "published")


def _columns_of_file(result: Result) -> Iterator[Measured]:
    """Yield the columns of a study file."""
    study = result.study
    names = {arm: arm for arm in study.arms} | {system.name: system.published_name for system in study.systems}
    for column in study.columns:
        shown = _of_column(result, column, names)
        texts = {}
        for name, (mean, interval, marks) in shown.texts.items():
            texts[name] = (f"{mean}{_count_text(result.figures[name, column.name])}", interval, marks)
        papers = {}
        for name, published_name in names.items():
            papers[name] = _published_text(study, published_name, column)
        alone = {}
        for row in study.published_alone:
            alone[f"paper: {row.name}", ""] = _published_text(study, row.name, column) or ABSENT
        where = f"paper: {column.published_on}" if column.published_on else ""
        yield replace(shown, name=column.name, metric=where, texts=texts, papers=papers, papers_alone=alone)


def _of_column(result: Result, column: Column, names: Iterable[str]) -> Measured:
    """Make the table's column for a column of the study; systems without an entry in it are left out."""
    texts = {}
    best = set[str]()
    for name in names:
        entry = result.entries.get((name, column.name))
        if entry is None:
            continue
        texts[name] = entry.texts
        if entry.is_best:
            best.add(name)
    return Measured(column.title, texts, column=column.name, best=frozenset(best))


def _mean_ranks(result: Result) -> Iterator[Measured]:
    """Yield a column of the mean ranks over several columns, unless the study has a mean of its own."""
    statistics = result.statistics
    if len(statistics.ranks) < 2 or any(column.mean for column in result.study.columns):
        return
    texts = {}
    for name, rank in statistics.mean_ranks.items():
        texts[name] = (f"{rank.mean:.1f}", f"[{rank.low:.1f}, {rank.high:.1f}]", "")
    if len(texts) > MOST_COLUMNS:
        yield Measured("mean", texts, "rank")


def _count_text(figure: Figure) -> str:
    """Say how many fits a figure is of."""
    if figure.members:
        return f" ({len(figure.members)} together)"
    return "" if figure.deviation is None else f" ({len(figure.values)})"


def _published_text(study: Study, row: str, column: Column) -> str:
    """Write a published figure so that nobody takes it for a measured one; empty if there is none."""
    figure = study.published_figure(row, column.name)
    return "" if figure is None else f"paper {figure:.{2 if column.figure else 1}f}"


def task_rows(result: Result, published: PublishedChoice) -> Iterator[Measured]:
    """Yield a row for every column of a task, then a row for each average that has a value."""
    study = result.study
    tasks = {task.name: task for task in study.tasks}
    for column in study.columns:
        if column.task not in tasks:
            continue
        task = tasks[column.task]
        term = column.term(task)
        name = row_name(column.title, term.split, len(study.scored_splits(task)))
        if task.method_reason and study.methods == ():
            name = f"{name} by {task.method}"
        majority = result.baseline.get(term, Score(None))
        yield replace(
            _of_column(result, column, study.names),
            name=name,
            metric=term.metric,
            baseline=Figure(majority, majority).measured_by(task.metric(term.metric)).mean_text,
            beside=vars(term),
            published=published.beside_metric(task, term.split, term.metric),
        )
    yield from _average_rows(result, published)


def _average_rows(result: Result, published: PublishedChoice) -> Iterator[Measured]:
    averages = {system: result.averages(system) for system in result.study.names}
    suites = {task.suite.name for task in result.study.tasks if task.suite is not None}
    for name in next(iter(averages.values())):
        texts = {}
        for system, of_system in averages.items():
            mean = Score(of_system[name][1])
            texts[system] = (Figure(mean, mean, scale=100.0).mean_text, "", "")
        if any(text[0] != ABSENT for text in texts.values()):  # averages over tasks not in the study have none
            yield Measured(name, texts, beside={"average": name}, published=published.beside_average(suites, name))


def cost_rows(result: Result) -> Iterator[Measured]:
    """Yield a row for each quantity of the costs, with its unit as the metric."""
    quantities = defaultdict[tuple[str, str], dict[str, tuple[str, str, str]]](dict)
    for cost in result.costs:
        quantities[cost.quantity, cost.unit][cost.system] = (cost.text or ABSENT, cost.interval_text, "")
    for (quantity, unit), of_systems in quantities.items():
        absent = dict.fromkeys(result.study.names, (ABSENT, "", ""))
        yield Measured(quantity, absent | of_systems, unit)


def _what(result: Result, shown: Shown) -> str:
    """Write what stands below the name of a system: which figures its column has."""
    fitting = result.study.fitting
    mean = "score" if fitting and len(fitting.seeds) == 1 else "mean ± sd"
    return f"{mean}{' [95 %]' * (shown.intervals and bool(result.statistics.intervals))}"


def _wide_layout(result: Result, rows: Sequence[Measured], shown: Shown) -> Layout:
    """Lay out a column for each system; published figures stand below the row that measures the same."""
    names, what = result.study.names, _what(result, shown)
    headers = ["task", "metric", "majority"]
    if any(row.published for row in rows):
        headers[-1] = "majority,\npublished"
    columns = []
    for system in names:
        headers.append(f"{system}\n{what}")
        parts = []
        for row in rows:
            mean, interval, marks = row.texts[system]
            parts.append((mean, interval * shown.intervals, marks))
        columns.append(_padded(parts))
    lines = []
    was_average = True
    for number, row in enumerate(rows):
        is_average = not row.metric
        figures = [column[number] for column in columns]
        cells = (row.name, row.metric, row.baseline, *figures)
        lines.append(Line(cells, begins_group=is_average and not was_average))
        was_average = is_average
        for figure in row.published:
            text = f"{figure.measures.kind} {figure.as_text()}"
            cells = (f"  {figure.row.name}", "", text, *[""] * len(names))
            lines.append(Line(cells, "published"))
    numeric = (False, False, True, *[True] * len(names))
    return Layout(tuple(headers), numeric, tuple(lines))


def _padded(texts: Sequence[tuple[str, ...]]) -> list[str]:
    """Join the parts of each text, so that equal parts of all texts stand below each other."""
    columns = list(zip(*texts, strict=True))
    padded = [""] * len(texts)
    for number, column in enumerate(columns):
        width, is_last = max(map(len, column)), number == len(columns) - 1
        if width:
            for line, part in enumerate(column):
                aligned = part.ljust(width) if is_last else part.rjust(width)
                padded[line] = f"{padded[line]} {aligned}" if padded[line] else aligned
    return padded
