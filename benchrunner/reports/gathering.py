"""Collect what a report shows beside a study's result, from its run folders and its data. Nothing is fitted."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from benchrunner.errors import BenchrunnerError, UnknownName, first_line
from benchrunner.fits.fit import Record
from benchrunner.leaderboards.published import PublishedFigure
from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.reports.disagreement import ALL_BYTES, Disagreement
from benchrunner.reports.fit_figures import Cost, cost, records_of
from benchrunner.reports.section import Section, reported, sections
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import CellResult
from benchrunner.studies.comparison.caption import NOTHING_PUBLISHED, footnotes, remarks
from benchrunner.studies.comparison.conclusions import conclusions
from benchrunner.studies.comparison.layout import Row, task_rows
from benchrunner.studies.kept.kept_study import find_study
from benchrunner.studies.result import Result


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
    sections: tuple[Section, ...]
    rows: tuple[Row, ...]
    """The rows of a table with tasks down, which have the published figures and the averages."""
    costs: tuple[Cost, ...]
    data: tuple[DataFacts, ...]
    facts: tuple[tuple[str, str], ...]
    """Figures about the whole study: name and value as texts."""
    versions: tuple[tuple[str, str], ...]
    conclusion: str
    command: str
    notes: tuple[str, ...]

    @property
    def differing(self) -> Sequence[Disagreement]:
        """For each section whose answers can be read, the rows in which systems differ."""
        return [section.disagreement for section in self.sections if section.disagreement is not None]


def gather(
    result: Result, runner: Runner, *, published: PublishedChoice = NOTHING_PUBLISHED, title: str = ""
) -> Report:
    """Collect the content of a report about a study."""
    result = reported(result, result.runner or runner)
    study, costs = result.study, list[Cost]()
    listed, data = tuple(sections(result, most_bytes=ALL_BYTES)), dict[tuple[str, str], DataFacts]()
    records = dict[str, Record]()
    for cell in result.cells:
        data |= {(fact.task, fact.split): fact for fact in _data(cell, runner)}  # while the rows are in memory
        of_cell = records_of(cell, runner)
        records |= of_cell
        costs.append(cost(cell, of_cell))
    notes = remarks(result) if study.systems_down else footnotes(result, published)
    return Report(
        result=result,
        title=title or study.title or _title(result),
        sections=listed,
        rows=() if study.systems_down else tuple(task_rows(result, published)),
        costs=tuple(costs),
        data=tuple(data.values()),
        facts=tuple(_facts(result, records)),
        versions=tuple(_versions(result, records)),
        conclusion="" if study.systems_down or not result.statistics.tests else " ".join(conclusions(result)),
        command=_command(result, runner),
        notes=tuple(dict.fromkeys(notes)),
    )


def _title(result: Result) -> str:
    tasks = [task.name for task in result.study.tasks]
    on = ", ".join(tasks) if len(tasks) < 4 else f"{len(tasks)} tasks"
    return f"{' and '.join(result.study.names)} on {on}"


def _facts(result: Result, records: Mapping[str, Record]) -> Iterator[tuple[str, str]]:
    fits = {fit.id for cell in result.cells for fit in cell.cell.fits}
    finished = sum(records[fit].status == "done" for fit in fits if fit in records)
    restarts = sorted({str(len(cell.cell.fitting.seeds)) for cell in result.cells})
    yield "systems" if result.study.systems_down else "backbones", str(len(result.study.names))
    yield "tasks", str(len({cell.cell.task.name for cell in result.cells}))
    yield "fits", f"{finished:,}" if finished == len(fits) else f"{finished:,} of {len(fits):,}"
    yield "restarts", " or ".join(restarts)
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
    values: dict[str, dict[str, None]] = {}
    for fit in {fit.id: fit for cell in result.cells for fit in cell.cell.fits}.values():
        for name, version in fit.suppliers.items():
            values.setdefault(name, {})[version] = None
        numerics = records[fit.id].numerics if fit.id in records else {}
        for name, version in {**numerics.get("versions", {}), "Python": numerics.get("python")}.items():
            if version:
                values.setdefault(name, {})[str(version)] = None
        if kernel := numerics.get("attention"):
            values.setdefault("attention", {})[", ".join(sorted(set(map(str, kernel.values()))))] = None
        if precision := numerics.get("precision"):
            values.setdefault("precision", {})[str(precision)] = None
    for name, versions in values.items():
        yield name, ", ".join(versions)


def _command(result: Result, runner: Runner) -> str:
    """Return the command line that repeats the study; empty if Python code or single runs made it."""
    try:
        words = find_study(runner.workspace.runs, result.name).command if result.name else ()
    except UnknownName:
        words = ()
    return f"benchrunner {shlex.join(words)}" if words else ""


def published_texts(figures: Sequence[PublishedFigure]) -> dict[str, list[str]]:
    """Group published figures by system, as texts that begin with `dev` or `test`."""
    systems = dict[str, list[str]]()
    for figure in figures:
        systems.setdefault(figure.row.name, []).append(f"{figure.measures.kind} {figure.as_text()}")
    return systems
