"""What is said of a study below its table: facts in their order, of which formats take all or some kinds."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from benchrunner.features.kernels import gain_of_kernels
from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.studies.cells import CellResult
from benchrunner.studies.codes import code_of
from benchrunner.studies.comparison.footnotes import footnotes, grouped
from benchrunner.studies.comparison.layout import EVERYTHING, NOTHING_PUBLISHED
from benchrunner.studies.comparison.legend import legend
from benchrunner.studies.comparison.table import Shown
from benchrunner.studies.result import Result

Kind = Literal["conclusion", "mark", "direction", "about", "cost", "note", "submission"]
"""What a fact is about: who is better and what may reverse this, what marks mean, which metrics are better if lower,
what was run, how costs were measured, what the table cannot show, and how answers are handed in."""
LINE = 98
"""Characters of a line below a table, after its indentation."""
SHOWN = 3
"""Number of differences that a sentence names. With three or more systems and tasks down it names one for each."""
WORTH_KERNELS = 60.0
"""Seconds of fitting from which a table says what compiled kernels would gain."""
MOST_LINES = 5
"""Lines below a table in a terminal, unless all notes are asked for."""


class Fact(NamedTuple):
    """A sentence about a study."""

    kind: Kind
    text: str
    code: str = ""
    """Code of the warning that it is; see `WARNINGS`."""

    @property
    def line(self) -> str:
        """The sentence after its code."""
        return f"{self.code} {self.text}".lstrip()

    @property
    def is_note(self) -> bool:
        """Whether pages show the sentence among the notes, neither as a conclusion nor beside a mark."""
        return self.kind not in ("conclusion", "mark")


def facts(result: Result, published: PublishedChoice = NOTHING_PUBLISHED, shown: Shown = EVERYTHING) -> Iterator[Fact]:
    """Yield what is said below a table: conclusions and the legend first."""
    for text in result.statistics.say(result, SHOWN):
        yield Fact("conclusion", text)
    yield from _coded("conclusion", result.statistics.caveats)
    for text in legend(result):
        yield Fact("mark", text)
    for text in _directions(result):
        yield Fact("direction", text)
    for text in (*_about(result), *_computed(result, shown)):
        yield Fact("about", text)
    yield from _coded("cost", cost_notes(result))
    if shown.run_ids:
        for cell in result.table_cells:
            ids = ", ".join(fit.id for fit in cell.restarts)
            yield Fact("about", f"runs of {cell.cell.system} on {titles(cell, result)}: {ids or 'none'}")
    yield from _coded("note", footnotes(result, published))
    for system, words in result.submissions.items():
        yield Fact("submission", f"submission of {system}, without fitting again: benchrunner {shlex.join(words)}")


def _coded(kind: Kind, texts: Iterable[str]) -> Iterator[Fact]:
    """Yield sentences with the codes of warnings."""
    for text in texts:
        yield Fact(kind, text, code_of(text))


def lines_below(result: Result, published: PublishedChoice, shown: Shown, *, notes_by: str, then: str) -> list[str]:
    """Return the lines below a table in a terminal: the verdict, what its marks mean, what may reverse it, what to do
    next, and the option or command `notes_by` that shows the notes.

    Without `notes_by`, and with the ids of runs, all facts are returned. `then` stands before the study's name.
    """
    every = list(facts(result, published, shown))
    then = f"{then} {result.name}" if result.name else ""
    if not notes_by or shown.run_ids:
        return list(filter(None, [*(fact.line for fact in every), then]))
    meanings = []
    failed = list[str]()
    held = 0
    for fact in every:
        if fact.kind in ("mark", "direction"):
            meanings.append(" ".join(fact.text.split()))
        elif not failed and "no scores: " in fact.text:
            failed.append(fact.line)
        else:
            held += fact.kind != "conclusion"
    below = ["; ".join(meanings), *failed, then, f"{held} note{'s' * (held > 1)}: {notes_by}" * (held > 0)]
    verdict = headline(result, max(1, MOST_LINES - line_count(below)))
    return list(filter(None, (verdict, *below)))


def headline(result: Result, lines: int) -> str:
    """Say the conclusion with as many figures as fit into so many lines, or its first sentence; empty without tests."""
    for shown in (SHOWN, 1, 0):
        sentences = result.statistics.say(result, shown)
        said = " ".join(sentences)
        if line_count([said]) <= lines:
            return said
    first, *others = sentences
    return f"{first} ({len(others)} more)" if others else first


def line_count(sentences: Iterable[str]) -> int:
    """Count the lines that sentences fill below a table."""
    return sum(len(textwrap.wrap(sentence, LINE)) for sentence in sentences)


def _directions(result: Result) -> Iterator[str]:
    """Name the metrics of the table whose lower values are better."""
    metrics = dict[str, None]()
    for task in result.study.tasks:
        for column in result.study.columns:
            if column.task == task.name:
                metric = task.metric(column.term(task).metric)
                if metric.lower_is_better:
                    metrics[metric.name] = None
    if metrics:
        yield f"lower is better: {', '.join(metrics)}"


def _about(result: Result) -> Iterator[str]:
    """Yield what a study file says about itself, its published figures and its columns, and what plugins say of the
    study."""
    study = result.study
    if study.about:
        yield " ".join(study.about.split())
    if study.scale.about:
        yield f"scale {study.scale.name}: {' '.join(study.scale.about.split())}"
    for arm, systems in study.arms.items():
        yield f"{arm}: mean ± deviation of the pre-trainings {', '.join(systems)}"
    shown = {column.name for column in study.columns}
    rows = [row for row in study.published if shown & row.cells.keys()]
    for source, names in grouped((row.source, row.name) for row in rows).items():
        if source:
            of_rows = "" if source == study.source else f" ({', '.join(names)})"
            yield f"paper{of_rows}: {source}"
    for row in rows:
        if row.notes:
            yield f"paper, {row.name}: {row.notes}"
    for column in study.columns:
        if column.note:
            yield f"{column.name}: {column.note}"
    if result.plugins is not None:
        for texts in result.plugins.hook.describe_study(result=result):
            yield from texts


def _computed(result: Result, shown: Shown) -> Iterator[str]:
    """Yield what the intervals are, or how to see them, and how long the fits took on which machine."""
    if result.statistics.intervals and shown.intervals:
        several = any(len(cell.restarts) > 1 for cell in result.cells)
        restarts = ", for these restarts; the interval over restarts is in --format json"
        yield f"[95 %] is the interval over examples{restarts if several else ''}"
    elif result.statistics.intervals:
        yield "intervals of 95 %: --intervals, or --long with all metrics"
    computing = result.computing
    if computing and computing.devices:
        versions = [f"{library} {'/'.join(listed)}" for library, listed in computing.versions.items()]
        with_versions = f"; {', '.join(versions)}" if versions else ""
        yield f"{computing.seconds:,.0f} seconds of fitting on {', '.join(computing.devices)}{with_versions}"
        gain = gain_of_kernels(computing.without_kernels)
        if gain and computing.seconds >= WORTH_KERNELS:
            yield gain


def titles(cell: CellResult, result: Result) -> str:
    """Name the columns of a cell."""
    titles = [column.title for column in result.study.columns if column.name in cell.cell.columns]
    return ", ".join(dict.fromkeys(titles))


def cost_notes(result: Result) -> Iterator[str]:
    """Yield how the costs were measured, and why one is absent."""
    for note, quantities in grouped((cost.note, cost.quantity) for cost in result.costs).items():
        if note:
            yield f"{', '.join(quantities)}: {note}"
