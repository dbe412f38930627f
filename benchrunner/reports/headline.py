"""The headline table of a report: scores with intervals, differences from the first backbone, published figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchrunner.leaderboards.published import PublishedFigure
from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.reports.contents import HeadlineCell, HeadlineRow, PublishedLine
from benchrunner.reports.reported_answers import backbones_of
from benchrunner.studies.study import Result
from benchrunner.studies.study_statistics import StudyStatistics
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task


def anchor(part: int, task: str) -> str:
    """Return the HTML id of a task's section; `part` is the number of the task's study in the report."""
    return f"task-{part}-{task.replace('/', '-')}"


def headline_rows(
    result: Result, statistics: StudyStatistics, published: PublishedChoice, part: int
) -> Iterator[HeadlineRow]:
    """Yield a row for every metric of every dev split, then a row for each average that has a value."""
    for task in result.study.tasks:
        for split in task.named("dev"):
            for metric in (metric for metric in task.metrics if not metric.detail):
                term = Term(task.name, split, metric.name)
                baseline = result.baseline.get(term)
                yield HeadlineRow(
                    f"{task.name} ({split})" if len(task.named("dev")) > 1 else task.name,
                    metric.name,
                    anchor(part, task.name),
                    None if baseline is None or baseline.value is None else baseline.value * metric.scale,
                    tuple(headline_cells(result, statistics, task, term, metric.scale)),
                    _lines(published.beside_metric(task, split, metric.name)),
                )
    yield from _averages(result, published)


def headline_cells(
    result: Result, statistics: StudyStatistics, task: Task, term: Term, scale: float
) -> Iterator[HeadlineCell]:
    """Yield the cell of each backbone of the study; a backbone without this task has an empty cell."""
    present = backbones_of(result, task)
    for backbone in result.study.names:
        spread = result.of(backbone, task.name).spreads.get(term) if backbone in present else None
        if spread is None:
            yield HeadlineCell(backbone, None, reason="no fit finished" if backbone in present else "")
            continue
        key = (backbone, term)
        interval, tested = statistics.examples.get(key), statistics.tests.get(key)
        difference = None
        if tested is not None:
            comparison = tested.comparison
            difference = (comparison.difference * scale, comparison.low * scale, comparison.high * scale)
        yield HeadlineCell(
            backbone,
            None if spread.mean.value is None else spread.mean.value * scale,
            None if spread.deviation is None else spread.deviation * scale,
            None if interval is None else (interval.low * scale, interval.high * scale),
            None if spread.best.value is None else spread.best.value * scale,
            len(spread.values),
            difference,
            None if tested is None else tested.adjusted_p,
            tested is not None and tested.is_clear,
            spread.mean.reason or statistics.absent.get(key, ""),
        )


def _averages(result: Result, published: PublishedChoice) -> Iterator[HeadlineRow]:
    averages = [result.averages(backbone) for backbone in result.study.names]
    suites = {task.suite.name for task in result.study.tasks if task.suite is not None}
    for name in averages[0]:
        pairs = [average[name] for average in averages]
        if any(value is not None for pair in pairs for value in pair):
            cells = tuple(
                HeadlineCell(backbone, None if mean is None else 100 * mean, best=None if best is None else 100 * best)
                for backbone, (best, mean) in zip(result.study.names, pairs, strict=True)
            )
            yield HeadlineRow(name, "average", "", None, cells, _lines(published.beside_average(suites, name)))


def _lines(figures: Sequence[PublishedFigure]) -> tuple[PublishedLine, ...]:
    """Group published figures by system."""
    systems: dict[str, list[str]] = {}
    for figure in figures:
        systems.setdefault(figure.row.name, []).append(f"{figure.measures.kind} {figure.as_text()}")
    return tuple(PublishedLine(name, tuple(listed)) for name, listed in systems.items())
