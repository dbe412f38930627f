"""Collect what a report shows from a study's result, its run folders and its data. Nothing is fitted or predicted."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from benchrunner.errors import BenchrunnerError, UnknownName, first_line
from benchrunner.fits.record import Record
from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.reports.contents import Cost, DataFacts, HeadlineRow, Report, TaskReport
from benchrunner.reports.disagreement import ALL_BYTES, disagreement
from benchrunner.reports.fit_figures import chosen_recipe, cost, curves, grid_points, records_of
from benchrunner.reports.headline import anchor, headline_cells, headline_rows
from benchrunner.reports.reported_answers import ReportedAnswers, backbones_of
from benchrunner.reports.slices import confusions, slices_by_label, slices_by_length
from benchrunner.reports.study_tables import study_table
from benchrunner.runs.runner import Runner
from benchrunner.studies.comparison.caption import NOTHING_PUBLISHED, footnotes
from benchrunner.studies.comparison.conclusions import conclusion
from benchrunner.studies.kept.kept_study import find_study
from benchrunner.studies.study import Result
from benchrunner.studies.study_statistics import StudyStatistics, study_statistics
from benchrunner.study_files.table import StudyFileResult
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task


def gather(
    result: Result | StudyFileResult,
    runner: Runner,
    *,
    published: PublishedChoice = NOTHING_PUBLISHED,
    title: str = "",
) -> Report:
    """Collect the content of a report about a study, or about a study file and the studies behind its table."""
    parts = result.results if isinstance(result, StudyFileResult) else (result,)
    table = study_table(result) if isinstance(result, StudyFileResult) else None
    headline, tasks, costs = list[HeadlineRow](), list[TaskReport](), list[Cost]()
    records, data = dict[str, Record](), dict[tuple[str, str], DataFacts]()
    conclusions = list[str]()
    count = sum(len(part.study.tasks) for part in parts)
    notes = list[str](table.notes if table is not None else ())
    for number, part in enumerate(parts):
        own = part.runner or runner  # it reads the dev rows that the study scores
        answers = ReportedAnswers(own, part.predictions)
        statistics = study_statistics(part, own, answers)
        if table is None and statistics.tests:
            conclusions.append(conclusion(part, statistics))
        headline += headline_rows(part, statistics, published, number)
        for task in part.study.tasks:
            tasks.append(_task(task, part, statistics, number, answers, own, most_bytes=ALL_BYTES // count))
            data |= {(fact.task, fact.split): fact for fact in _data(task, own)}  # while the rows are in memory
        for cell in part.cells:
            of_cell = records_of(cell, runner)
            records |= of_cell
            costs.append(cost(cell, of_cell))
        notes += footnotes(part, published) if table is None else ()
    backbones = tuple(dict.fromkeys(name for part in parts for name in part.study.names))
    recipes = tuple(recipe for part in parts for cell in part.cells if (recipe := chosen_recipe(cell)) is not None)
    return Report(
        title=title or (result.study.title if isinstance(result, StudyFileResult) else _title(result)),
        about=result.study.about if isinstance(result, StudyFileResult) else "",
        conclusion=" ".join(conclusions),
        facts=tuple(_facts(parts, records)),
        backbones=backbones,
        headline=tuple(headline),
        tasks=tuple(tasks),
        costs=tuple(costs),
        recipes=recipes,
        data=tuple(data.values()),
        versions=tuple(_versions(parts, records)),
        command=_command(result, runner),
        notes=tuple(dict.fromkeys(notes)),
        table=table,
    )


def _title(result: Result) -> str:
    tasks = [task.name for task in result.study.tasks]
    on = ", ".join(tasks) if len(tasks) < 4 else f"{len(tasks)} tasks"
    return f"{' and '.join(result.study.names)} on {on}"


def _task(
    task: Task,
    result: Result,
    statistics: StudyStatistics,
    part: int,
    answers: ReportedAnswers,
    runner: Runner,
    *,
    most_bytes: int,
) -> TaskReport:
    """Collect the section of a task, about its headline metric on its first dev split."""
    split, metric = task.named("dev")[0], task.metrics[0]
    term, names = Term(task.name, split, metric.name), backbones_of(result, task)
    cells = [result.of(name, task.name) for name in names]
    baseline = result.baseline.get(term)
    trials = {name: statistics.trials[name, term] for name in names if (name, term) in statistics.trials}
    rows, absent = None, ""
    try:
        rows = answers.rows(result, task, split)
    except BenchrunnerError as reason:
        absent = first_line(reason)
    has_rows = rows is not None and bool(rows.answers) and rows.gold is not None and len(rows.rows) > 0
    return TaskReport(
        anchor=anchor(part, task.name),
        name=task.name,
        about=task.about,
        metric=metric.name,
        split=split,
        backbones=tuple(names),
        cells=tuple(headline_cells(result, statistics, task, term, metric.scale)),
        scores={
            cell.cell.backbone: tuple(value * metric.scale for value in cell.spreads[term].values)
            for cell in cells
            if term in cell.spreads
        },
        majority=None if baseline is None or baseline.value is None else baseline.value * metric.scale,
        curves=tuple(curve for cell in cells for curve in curves(cell, runner)),
        grid=tuple(point for cell in cells for point in grid_points(cell, split, metric, answers)),
        trials={name: tuple(value * metric.scale for value in values) for name, values in trials.items()},
        confusions=confusions(rows) if rows is not None and has_rows else (),
        by_length=slices_by_length(rows) if rows is not None and has_rows else (),
        by_label=slices_by_label(rows) if rows is not None and has_rows else (),
        disagreement=disagreement(rows, most_bytes=most_bytes) if rows is not None and has_rows else None,
        absent=absent,
    )


def _facts(parts: Sequence[Result], records: Mapping[str, Record]) -> Iterator[tuple[str, str]]:
    fits = {fit.id for part in parts for cell in part.cells for fit in cell.cell.fits}
    finished = sum(records[fit].status == "done" for fit in fits if fit in records)
    yield "backbones", str(len({name for part in parts for name in part.study.names}))
    yield "tasks", str(len({task.name for part in parts for task in part.study.tasks}))
    yield "fits", f"{finished:,}" if finished == len(fits) else f"{finished:,} of {len(fits):,}"
    yield "restarts", " or ".join(sorted({str(len(part.study.seeds)) for part in parts}))
    yield "computing time", duration(sum(record.timings.get("seconds", 0.0) for record in records.values()))


def duration(seconds: float) -> str:
    """Write a duration with two units at most."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.3g} s"


def _data(task: Task, runner: Runner) -> Iterator[DataFacts]:
    for split in (*task.named("train"), *task.named("dev")):
        try:
            rows = runner.planner.rows(task, split)
        except BenchrunnerError as reason:
            yield DataFacts(task.name, split, 0, first_line(reason), "")
        else:
            yield DataFacts(task.name, split, len(rows), rows.origin, rows.fingerprint)


def _versions(parts: Sequence[Result], records: Mapping[str, Record]) -> Iterator[tuple[str, str]]:
    """Yield the names and versions of plugins and libraries that made the fits; several versions are listed."""
    values: dict[str, dict[str, None]] = {}
    for fit in {fit.id: fit for part in parts for cell in part.cells for fit in cell.cell.fits}.values():
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


def _command(result: Result | StudyFileResult, runner: Runner) -> str:
    """Return the command line that repeats the study; empty if Python code or single runs made it."""
    try:
        words = find_study(runner.workspace.runs, result.name).command if result.name else ()
    except UnknownName:
        words = ()
    return f"benchrunner {shlex.join(words)}" if words else ""
