"""Collect what a report shows beside a study's result, from its run folders and its data. Nothing is fitted."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from benchrunner import BenchrunnerError
from benchrunner.engine import first_line
from benchrunner.results import CellResult, Fit, Record, Result, Runner, Study, cells, comparison
from benchrunner_report.disagreement import ALL_BYTES, Disagreement
from benchrunner_report.fit_figures import Cost, cost, records_of
from benchrunner_report.section import Section, sections
from benchrunner_report.table import StudyTable
from benchrunner_statistics import by_pair, column_kind


@final
@dataclass(frozen=True)
class DataFacts:
    """Where the rows of a split came from, and their fingerprint."""

    task: str
    split: str
    rows: int
    origin: str
    fingerprint: str


@final
@dataclass(frozen=True)
class Report:
    """A result with everything else that its report shows."""

    result: Result
    title: str
    subtitle: str
    """What is compared; empty if the title says it."""
    table: StudyTable
    sections: tuple[Section, ...]
    costs: tuple[Cost, ...]
    data: tuple[DataFacts, ...]
    facts: tuple[tuple[str, str], ...]
    """Figures about the whole study: name and value as texts."""
    versions: tuple[tuple[str, str], ...]
    conclusions: tuple[str, ...]
    legend: tuple[str, ...]
    """What the marks of the table mean."""
    command: str
    """Words of the command that repeats the study, without `benchrunner`; empty if there is none."""
    notes: tuple[str, ...]

    @property
    def differing(self) -> Sequence[Disagreement]:
        """For each section whose answers can be read, the rows in which systems differ."""
        return [section.disagreement for section in self.sections if section.disagreement is not None]

    @property
    def rows_heading(self) -> str:
        """The heading above single rows."""
        study = self.result.study
        return f"Rows where {kind_of(study)}s differ" if len(study.names) > 1 else "Rows answered wrong"

    @property
    def absent(self) -> str:
        """A sentence that says of which tasks no rows can be shown, and why; empty if all have rows."""
        reasons = dict[str, str]()
        for section in self.sections:
            if section.absent:
                reasons.setdefault(section.task.name, section.absent)
        if not reasons:
            return ""
        shown = f"The report shows no rows of {', '.join(reasons)}, and no interval or test that reads them"
        return f"{shown}: {next(iter(reasons.values())).rstrip('.')}."


def gather(
    result: Result,
    runner: Runner,
    *,
    published: comparison.PublishedChoice = comparison.NOTHING_PUBLISHED,
    title: str = "",
    with_rows: bool = True,
) -> Report:
    """Collect the content of a report about a study; `with_rows` asks for rows of the data, with their texts."""
    result = result.read_once(runner)
    study = result.study
    listed = tuple(sections(result, most_bytes=ALL_BYTES if with_rows else 0))
    costs = []
    data = dict[tuple[str, str], DataFacts]()
    records = dict[str, Record]()
    for cell in result.cells:
        for fact in _data(cell, runner):  # while the rows are in memory
            data[fact.task, fact.split] = fact
        of_cell = records_of(cell, runner)
        records |= of_cell
        costs.append(cost(cell, of_cell))
    facts = list(comparison.facts(result, published))
    about = " ".join(study.about.split())
    compared = _compared(result)
    name = title or headline(result) or study.title or result.name or compared
    return Report(
        result=result,
        title=name,
        subtitle="" if name == compared else study.title or compared,
        table=StudyTable.of(comparison.layout(result, published)),
        sections=listed,
        costs=tuple(costs),
        data=tuple(data.values()),
        facts=tuple(_facts(result, records)),
        versions=tuple(_versions(result, records)),
        conclusions=tuple(fact.line for fact in facts if fact.kind == "conclusion"),
        legend=tuple(fact.line for fact in facts if fact.kind == "mark"),
        command=shlex.join(result.command),
        notes=tuple(dict.fromkeys(fact.line for fact in facts if fact.is_note and fact.line != about)),
    )


def headline(result: Result) -> str:
    """Say in a sentence who is best, or how the two systems differ whose differences are clear most often.

    Empty if nothing was tested.
    """
    pairs = by_pair(result.statistics)
    if not pairs:
        return ""
    kind = column_kind(result)
    if result.statistics.is_ranking:
        leading = Counter(name for name, _ in result.statistics.standings)
        for leader, count in leading.most_common(1):
            return f"{leader} is best, or tied for best, on {count} of {len(result.statistics.ranks)} {kind}s"
        return f"Nothing is clear between {len(result.study.compared)} {kind_of(result.study)}s"
    gains = {}
    for pair, tests in pairs.items():
        clear = [test.comparison.gain > 0 for test in tests.values() if test.is_clear]
        gains[pair] = clear.count(True), clear.count(False)
    (system, other), (gained, lost) = max(gains.items(), key=lambda entry: sum(entry[1]))
    count = len(pairs[system, other])
    on = f"{count} {kind}{'s' * (count > 1)}"
    if lost > gained:
        system, other, gained, lost = other, system, lost, gained
    if not gained:
        return f"No clear difference between {system} and {other} on {on}"
    return f"{system} is better than {other} on {gained} of {on}{f', and worse on {lost}' * (lost > 0)}"


def _compared(result: Result) -> str:
    """Say in a few words what is compared: by name up to two systems and three tasks."""
    names = result.study.compared
    tasks = [task.name for task in result.study.tasks]
    systems = " and ".join(names) if len(names) < 3 else f"{len(names)} {kind_of(result.study)}s"
    on = ", ".join(tasks) if len(tasks) < 4 else f"{len(tasks)} tasks"
    return f"{systems} on {on}"


def kind_of(study: Study) -> str:
    """Return the word for what is compared."""
    return "system" if study.systems_down else "backbone"


def _facts(result: Result, records: Mapping[str, Record]) -> Iterator[tuple[str, str]]:
    fits = {fit.id for cell in result.cells for fit in cell.cell.fits}
    finished = sum(records[fit].status == "done" for fit in fits if fit in records)
    restarts = set[int]()
    for cell in result.cells:
        restarts.add(len(cell.chosen_fits if cell.cell.fitting.looks else cell.cell.fitting.seeds))
    yield f"{kind_of(result.study)}s", str(len(result.study.compared))
    yield "tasks", str(len({cell.cell.task.name for cell in result.cells}))
    yield "fits", f"{finished:,}" if finished == len(fits) else f"{finished:,} of {len(fits):,}"
    yield "restarts", " or ".join(map(str, sorted(restarts)))
    yield "computing time", duration(sum(record.timings.get("seconds", 0.0) for record in records.values()))


def duration(seconds: float) -> str:
    """Write a duration with two units at most."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.3g} s"


def _data(cell: CellResult, runner: Runner) -> Iterator[DataFacts]:
    task = cell.cell.task
    for split in (*task.named("train"), *task.named("dev")):
        try:
            rows = (cell.runner or runner).planner.rows(task, split)
        except BenchrunnerError as reason:
            yield DataFacts(task.name, split, 0, first_line(reason), "")
        else:
            yield DataFacts(task.name, split, len(rows), rows.origin, rows.fingerprint)


def _versions(result: Result, records: Mapping[str, Record]) -> Iterator[tuple[str, str]]:
    """Yield the names and versions of plugins and libraries that made the fits; several versions are listed."""
    values = dict[str, dict[str, None]]()
    for fit in cells.different_fits(cell.cell for cell in result.cells):
        for name, version in _versions_of(fit, records.get(fit.id)):
            if version:
                values.setdefault(name, {})[str(version)] = None
    for name, versions in values.items():
        yield name, ", ".join(versions)


def _versions_of(fit: Fit, record: Record | None) -> Iterator[tuple[str, str | None]]:
    """Yield the names and versions of what made a fit."""
    yield from fit.suppliers.items()
    numerics = {} if record is None else record.numerics
    yield from numerics.get("versions", {}).items()
    yield "Python", numerics.get("python")
    kernels = map(str, numerics.get("attention", {}).values())
    yield "attention", ", ".join(sorted(set(kernels)))
    yield "precision", numerics.get("precision")
