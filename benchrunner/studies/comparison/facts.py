"""What is said of a study below its table: facts in their order, of which formats take all or some kinds."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.studies.codes import code_of
from benchrunner.studies.comparison.captions import caption, titles
from benchrunner.studies.comparison.conclusions import caveats, conclusions, grouped, headline, line_count
from benchrunner.studies.comparison.footnotes import footnotes
from benchrunner.studies.comparison.layout import EVERYTHING, NOTHING_PUBLISHED
from benchrunner.studies.comparison.legend import legend
from benchrunner.studies.comparison.table import Shown
from benchrunner.studies.result import Result
from benchrunner.studies.study import Study

Kind = Literal["conclusion", "mark", "direction", "about", "cost", "note", "submission"]
"""What a fact is about: who is better and what may reverse this, what marks mean, which metrics are better if lower,
what was run, how costs were measured, what the table cannot show, and how answers are handed in."""
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
    for text in conclusions(result):
        yield Fact("conclusion", text)
    yield from _coded("conclusion", caveats(result))
    for text in legend(result):
        yield Fact("mark", text)
    for text in _directions(result):
        yield Fact("direction", text)
    for text in (*_about(result.study), *caption(result, shown)):
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


def _directions(result: Result) -> Iterator[str]:
    """Name the metrics of the table whose lower values are better."""
    metrics = dict[str, None]()
    for task in result.study.tasks:
        for column in result.study.columns:
            if column.task == task.name and task.metric(column.term(task).metric).lower_is_better:
                metrics[column.term(task).metric] = None
    if metrics:
        yield f"lower is better: {', '.join(metrics)}"


def _about(study: Study) -> Iterator[str]:
    """Yield what a study file says about itself, its published figures and its columns."""
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


def cost_notes(result: Result) -> Iterator[str]:
    """Yield how the costs were measured, and why one is absent."""
    for note, quantities in grouped((cost.note, cost.quantity) for cost in result.costs).items():
        if note:
            yield f"{', '.join(quantities)}: {note}"
