"""Collect what a report shows beside a study's result, from its run folders and its data. Nothing is fitted."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from benchrunner import BenchrunnerError
from benchrunner.engine import first_line
from benchrunner.results import CellResult, Record, Result, Runner, comparison
from benchrunner_report.disagreement import ALL_BYTES, Disagreement
from benchrunner_report.fit_figures import Cost, cost, records_of
from benchrunner_report.section import Section, sections


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
    rows: tuple[comparison.Row, ...]
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
    costs = list[Cost]()
    listed = tuple(sections(result, most_bytes=ALL_BYTES if with_rows else 0))
    data = dict[tuple[str, str], DataFacts]()
    records = dict[str, Record]()
    for cell in result.cells:
        data |= {(fact.task, fact.split): fact for fact in _data(cell, runner)}  # while the rows are in memory
        of_cell = records_of(cell, runner)
        records |= of_cell
        costs.append(cost(cell, of_cell))
    conclusions = comparison.conclusions(result) if result.statistics.tests else []
    notes = list(comparison.remarks(result)) if study.systems_down else list(_warnings(result))
    if not study.systems_down:
        notes += comparison.footnotes(result, published)
    return Report(
        result=result,
        title=title or study.title or _title(result),
        sections=listed,
        rows=() if study.systems_down else tuple(comparison.task_rows(result, published)),
        costs=tuple(costs),
        data=tuple(data.values()),
        facts=tuple(_facts(result, records)),
        versions=tuple(_versions(result, records)),
        conclusion=" ".join(conclusions),
        command=f"benchrunner {shlex.join(result.command)}" if result.command else "",
        notes=tuple(note for note in dict.fromkeys(notes) if note not in conclusions),
    )


def _warnings(result: Result) -> Iterator[str]:
    """Yield what a reader of the figures must know: flags, absent scores, lost fits and limits of rows."""
    for cell in result.table_cells:
        for warning in (*cell.warnings, *cell.limits):
            yield f"{cell.cell.system} on {cell.cell.task.name}: {warning}"


def _title(result: Result) -> str:
    tasks = [task.name for task in result.study.tasks]
    on = ", ".join(tasks) if len(tasks) < 4 else f"{len(tasks)} tasks"
    return f"{' and '.join(result.study.names)} on {on}"


def _facts(result: Result, records: Mapping[str, Record]) -> Iterator[tuple[str, str]]:
    fits = {fit.id for cell in result.cells for fit in cell.cell.fits}
    finished = sum(records[fit].status == "done" for fit in fits if fit in records)
    restarts = set[int]()
    for cell in result.cells:
        restarts.add(len(cell.chosen_fits if cell.cell.fitting.looks else cell.cell.fitting.seeds))
    yield "systems" if result.study.systems_down else "backbones", str(len(result.study.names))
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


def published_texts(row: comparison.Row) -> dict[str, list[str]]:
    """Group the published figures beside a row by system, as texts that begin with `dev` or `test`."""
    systems = dict[str, list[str]]()
    for figure in row.published:
        systems.setdefault(figure.row.name, []).append(f"{figure.measures.kind} {figure.as_text()}")
    return systems
