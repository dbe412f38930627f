"""Figures of what a submission answers with, on dev, beside published figures: as a terminal table and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, final

from benchrunner import BenchrunnerError, PublishedFigure, Score, Task, Term
from benchrunner.engine import first_line
from benchrunner.results import Result, Runner, answer, cells, comparison

if TYPE_CHECKING:
    from rich.table import Table


TITLE = "your figures on dev, and published figures on dev and test"


@final
@dataclass(frozen=True)
class DevFigure:
    """A figure of what a submission answers with, on dev, and the published figures that measure the same."""

    name: str
    """Task and split, or the name of an average."""
    metric: str
    """Empty for an average."""
    measures: Mapping[str, str]
    """What the figure is, as JSON: task, split and metric, or the name of an average."""
    score: Score
    scale: float
    """Factor by which tables multiply the score."""
    published: tuple[PublishedFigure, ...]


def scores_of_result(result: Result) -> dict[Term, Score]:
    """Return the dev scores of the fits that a study selected."""
    scores = {}
    for cell in result.cells:
        for term, figure in cell.figures.items():
            if term.split in cell.cell.task.named("dev"):
                scores[term] = figure.best
    return scores


def scores_of_runs(ensembles: Mapping[str, Sequence[str]], runner: Runner) -> dict[Term, Score]:
    """Return the dev scores of finished runs; the runs of one task answer together.

    A score that cannot be computed is absent with its reason: the submission does not need it.
    """
    scores = dict[Term, Score]()
    for name, references in ensembles.items():
        task = runner.plugins.tasks.find(name)
        for split in task.named("dev"):
            try:
                of_split = answer(references, runner, split=split).scores
            except BenchrunnerError as error:
                of_split = dict.fromkeys([metric.name for metric in task.metrics], Score(None, first_line(error)))
            for metric, score in of_split.items():
                scores[Term(name, split, metric)] = score
    return scores


def dev_figures(
    tasks: Sequence[Task], scores: Mapping[Term, Score], published: comparison.PublishedChoice
) -> tuple[DevFigure, ...]:
    """List the figures of the answered tasks, metric by metric, and then the averages that have a value."""
    figures = []
    suites = {}
    for task in tasks:
        if task.suite is not None:
            suites[task.suite.name] = task.suite
        splits = task.named("dev")
        for split in splits:
            name = comparison.row_name(task, split, len(splits))
            for metric in task.metrics:
                term = Term(task.name, split, metric.name)
                if term in scores and not metric.detail:
                    beside = published.beside_metric(task, split, metric.name)
                    figures.append(DevFigure(name, metric.name, vars(term), scores[term], metric.scale, tuple(beside)))
    values = {term: score.value for term, score in scores.items() if score.value is not None}
    for suite in suites.values():
        for average in suite.averages:
            value, measures = average.of(values), {"average": average.name}
            if value is not None:
                beside = published.beside_average({suite.name}, average.name)
                figures.append(DevFigure(average.name, "", measures, Score(value), 100.0, tuple(beside)))
    return tuple(figures)


def as_table(figures: Sequence[DevFigure]) -> Table:
    """Lay out the figures as rows, with a column for dev and one for test; published systems stand below."""
    from rich.markup import escape
    from rich.padding import Padding
    from rich.table import Table

    table = Table()
    table.add_column("task", overflow="fold")
    table.add_column("metric", no_wrap=True)
    for name in ("dev", "test"):
        table.add_column(name, justify="right", no_wrap=True)
    for figure in figures:
        table.add_row(escape(figure.name), figure.metric, comparison.score_text(figure.score, figure.scale), "")
        for system, dev, test in _systems(figure.published):
            table.add_row(Padding(escape(system), (0, 0, 0, 2), expand=False), "", dev, test, style="dim")
    return table


def _systems(published: Sequence[PublishedFigure]) -> Iterator[tuple[str, str, str]]:
    """Yield each system with its figures on dev and on test; another row if it has several of one kind."""
    systems: dict[str, dict[str, list[str]]] = {}
    for figure in published:
        texts = systems.setdefault(figure.row.name, {"dev": [], "test": []})
        texts[figure.measures.kind].append(figure.as_text())
    for system, texts in systems.items():
        for dev, test in zip_longest(texts["dev"], texts["test"], fillvalue=cells.ABSENT):
            yield system, dev, test


def footnotes(figures: Sequence[DevFigure], published: comparison.PublishedChoice) -> Iterator[str]:
    """Yield why figures are absent, and the sources of published figures."""
    for figure in figures:
        if figure.score.value is None:
            yield f"{figure.name}: {figure.metric} is absent: {figure.score.reason}"
    shown = [beside for figure in figures for beside in figure.published]
    yield from comparison.captions(shown)
    yield from published.notes_on_missing(shown)


def as_json(figures: Sequence[DevFigure]) -> dict[str, Any]:
    """Return our figures under the key `dev`, and published figures, with what they stand beside, under `published`."""
    dev = []
    published = []
    for figure in figures:
        dev.append({**figure.measures, "score": figure.score})
        for beside in figure.published:
            published.append({**beside.as_json(), "beside": figure.measures})
    return {"dev": dev, "published": published}
