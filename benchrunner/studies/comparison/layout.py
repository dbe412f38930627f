"""The cells of a comparison's table as texts, before they are written in some format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, final

from benchrunner.leaderboards.published import PublishedFigure
from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.metrics import Score
from benchrunner.statistics import Interval
from benchrunner.studies.comparison.marks import Marks
from benchrunner.studies.study import Result, Study
from benchrunner.studies.study_statistics import StudyStatistics
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task

ABSENT = "-"
WIDTH, MOST_COLUMNS, TASK_WIDTH = 100, 2, 16
"""Up to two backbones have a column each, if the table then fits into 100 characters, with folded names and 16 for the
names of tasks. Otherwise the backbones stand below each other."""


@final
@dataclass(frozen=True)
class Figure:
    """What a table shows of one backbone in one row."""

    best: str
    mean: str
    """Mean and deviation."""
    interval: str
    marks: str

    def parts(self, *, best: bool) -> tuple[str, ...]:
        """Return the texts of the parts that are shown."""
        return (self.best, self.mean, self.interval, self.marks)[not best :]


@final
@dataclass(frozen=True)
class Row:
    """One row of a comparison: a metric on a split, or an average."""

    name: str
    metric: str
    """Empty for an average."""
    baseline: str
    figures: tuple[Figure, ...]
    """One for each backbone."""
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


def comparison_rows(result: Result, statistics: StudyStatistics, published: PublishedChoice) -> Iterator[Row]:
    """Yield a row for every metric of every scored split, then a row for each average that has a value."""
    study, marks = result.study, Marks.of(result, statistics)
    for task in study.tasks:
        for split in study.scored_splits(task):
            for metric in (metric for metric in task.metrics if not metric.detail):
                term = Term(task.name, split, metric.name)
                yield Row(
                    _row_name(task, split, study),
                    metric.name,
                    score_text(result.baseline.get(term), metric.scale),
                    tuple(_figure(result, backbone, term, metric.scale, marks) for backbone in study.names),
                    {"task": term.task, "split": term.split, "metric": term.metric},
                    published.beside_metric(task, split, metric.name),
                )
    averages = [result.averages(backbone) for backbone in study.names]
    suites = {task.suite.name for task in study.tasks if task.suite is not None}
    for name in averages[0]:
        pairs = [average[name] for average in averages]
        if any(value is not None for pair in pairs for value in pair):  # skip averages over tasks not in the study
            figures = tuple(
                Figure(score_text(Score(best), 100.0), score_text(Score(mean), 100.0), "", "") for best, mean in pairs
            )
            yield Row(name, "", "", figures, {"average": name}, published.beside_average(suites, name))


def _row_name(task: Task, split: str, study: Study) -> str:
    name = f"{task.name} ({split})" if len(study.scored_splits(task)) > 1 else task.name
    return f"{name} by {task.method}" if task.method_reason and study.methods == () else name


def score_text(score: Score | None, scale: float) -> str:
    """Write a score with one decimal, or `ABSENT`."""
    if score is None or score.value is None:
        return ABSENT
    return f"{score.value * scale:.1f}"


def interval_text(interval: Interval | None, scale: float) -> str:
    """Write an interval with one decimal; nothing if there is none."""
    return "" if interval is None else f"[{interval.low * scale:.1f}, {interval.high * scale:.1f}]"


def _figure(result: Result, backbone: str, term: Term, scale: float, marks: Marks) -> Figure:
    cell = result.of(backbone, term.task)
    spread = cell.spreads.get(term)
    if spread is None:
        return Figure(ABSENT, ABSENT, "", marks.of_cell(cell, term))
    mean = score_text(spread.mean, scale)
    if spread.deviation is not None:
        mean += f" ± {spread.deviation * scale:.1f}"
    interval = interval_text(marks.statistics.examples.get((backbone, term)), scale)
    return Figure(score_text(spread.best, scale), mean, interval, marks.of_cell(cell, term))


def layout(result: Result, statistics: StudyStatistics, published: PublishedChoice, *, best: bool = False) -> Layout:
    """Lay out a comparison: backbones have a column each while these fit, and otherwise a line each.

    `best` shows the score of the selected restart too, which is optimistic, because dev selected it.
    """
    rows = list(comparison_rows(result, statistics, published))
    if len(result.study.names) <= MOST_COLUMNS:
        wide = _wide_layout(result, rows, best=best)
        if _width(wide) <= WIDTH:
            return wide
    return _long_layout(result, rows, best=best)


def _width(shown: Layout) -> int:
    """Compute the characters of a line on a terminal, with the names of tasks folded, and borders between columns."""
    columns = list(zip(*(line.cells for line in shown.lines), strict=True))
    cells = (max(map(len, column)) for column in columns)
    headers = (len(header.split("\n")[-1]) for header in shown.headers)
    task, *others = (max(pair) for pair in zip(cells, headers, strict=True))
    return min(task, TASK_WIDTH) + sum(others) + 3 * len(columns) + 1


def _what(result: Result, *, best: bool) -> str:
    """Say what the figures of a backbone are."""
    mean = "mean ± sd" if len(result.study.seeds) > 1 else "score"
    return f"{'best ' * best}{mean} [95 %]"


def _wide_layout(result: Result, rows: Sequence[Row], *, best: bool) -> Layout:
    study = result.study
    columns = [_padded([row.figures[number].parts(best=best) for row in rows]) for number, _ in enumerate(study.names)]
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
    headers = (f"{backbone}\n{what}" for backbone in study.names)
    return Layout(("task", "metric", reference, *headers), (False, False, *[True] * (1 + len(columns))), tuple(lines))


def _long_layout(result: Result, rows: Sequence[Row], *, best: bool) -> Layout:
    study = result.study
    padded = _padded([figure.parts(best=best) for row in rows for figure in row.figures])
    lines, count = list[Line](), len(study.names)
    for number, row in enumerate(rows):
        texts = padded[number * count : (number + 1) * count]
        for at, (backbone, text) in enumerate(zip(study.names, texts, strict=True)):
            names = (row.name, row.metric) if at == 0 else ("", "")
            lines.append(Line((*names, backbone, text), "score", begins_group=at == 0 and number > 0))
        references = [("majority", row.baseline)] if row.baseline else []
        references += [(figure.row.name, f"{figure.measures.kind} {figure.as_text()}") for figure in row.published]
        lines += [Line(("", "", f"  {name}", text), "published") for name, text in references]
    name = "backbone (method)" if len(study.methods) > 1 else "backbone"
    return Layout(("task", "metric", name, _what(result, best=best)), (False, False, False, True), tuple(lines))


def _padded(parts: Sequence[tuple[str, ...]]) -> list[str]:
    """Join the parts of each text, so that equal parts of all texts stand below each other."""
    widths = [max(map(len, column)) for column in zip(*parts, strict=True)]
    last = len(widths) - 1
    return [
        " ".join(
            text.ljust(width) if number == last else text.rjust(width)
            for number, (text, width) in enumerate(zip(texts, widths, strict=True))
            if width
        )
        for texts in parts
    ]
