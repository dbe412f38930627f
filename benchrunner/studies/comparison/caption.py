"""The lines below a comparison's table: conclusion, legend, what was run, and what the table cannot show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import final

from benchrunner.leaderboards.published_choice import PublishedChoice, captions
from benchrunner.parameters.recipes import STEP_FIELDS, NamedRecipe
from benchrunner.runs.runner import Runner
from benchrunner.studies.comparison.conclusions import conclusion
from benchrunner.studies.comparison.layout import comparison_rows
from benchrunner.studies.comparison.marks import Marks
from benchrunner.studies.study import CellResult, Result
from benchrunner.studies.study_statistics import StudyStatistics, study_statistics

NO_STATISTICS = StudyStatistics()
NOTHING_PUBLISHED = PublishedChoice()


@final
@dataclass(frozen=True)
class Computing:
    """How the fits of a study were computed, from their records."""

    seconds: float = 0.0
    """Seconds of all fits together, those included that an earlier study ran."""
    devices: tuple[str, ...] = ()
    versions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Library -> the versions with which fits were computed."""


def computing(result: Result, runner: Runner) -> Computing:
    """Read how the fits of a study were computed."""
    seconds, devices, versions = 0.0, dict[str, None](), dict[str, dict[str, None]]()
    for fit in {fit.id: fit for cell in result.cells for fit in cell.cell.fits}.values():
        record = runner.folder(fit).record()
        if record is None:
            continue
        seconds += record.timings.get("seconds", 0.0)
        if device := record.numerics.get("device"):
            name = str(record.numerics.get("device_name") or "")
            devices[str(device) if name in ("", device) else f"{device} ({name})"] = None
        for library, version in dict(record.numerics.get("versions") or {}).items():
            versions.setdefault(library, {})[str(version)] = None
    return Computing(seconds, tuple(devices), {library: tuple(listed) for library, listed in versions.items()})


def gathered(result: Result) -> tuple[StudyStatistics, Computing | None]:
    """Compute the statistics of a result, and read how its fits were computed; both are empty without a runner."""
    if result.runner is None:
        return NO_STATISTICS, None
    return study_statistics(result, result.runner, result.predictions), computing(result, result.runner)


def remarks(
    result: Result,
    published: PublishedChoice = NOTHING_PUBLISHED,
    statistics: StudyStatistics = NO_STATISTICS,
    facts: Computing | None = None,
    *,
    run_ids: bool = False,
) -> Iterator[str]:
    """Yield all lines below a table. `facts` are how the fits were computed; `run_ids` adds the ids of the fits."""
    if statistics.tests and (sentence := conclusion(result, statistics)):
        yield sentence
    yield from Marks.of(result, statistics).legend(result.study.names[0])
    yield from caption(result, statistics, facts)
    if run_ids:
        yield from _run_ids(result)
    yield from footnotes(result, published, statistics)


def caption(result: Result, statistics: StudyStatistics, facts: Computing | None) -> Iterator[str]:
    """Yield what was run: recipe, seeds, chosen learning rates, intervals, seconds and machine."""
    seeds = result.study.seeds
    restarts = f"{len(seeds)} restarts (seeds {', '.join(map(str, seeds))})" if len(seeds) > 1 else f"seed {seeds[0]}"
    recipe = _recipe_text(result)
    yield f"{recipe}; {restarts}" if recipe else restarts
    if result.study.preset is not None:
        yield preset_note(result.study.preset)
    if rates := _chosen_rates(result):
        yield rates
    if statistics.examples:
        yield "[95 %] is the interval over examples, for these restarts; the interval over restarts is in --format json"
    if facts is not None and facts.devices:
        versions = ", ".join(f"{library} {'/'.join(listed)}" for library, listed in facts.versions.items())
        yield f"{facts.seconds:,.0f} seconds of fitting on {', '.join(facts.devices)}{f'; {versions}' * bool(versions)}"


def preset_note(preset: NamedRecipe) -> str:
    """Say which named recipe fits used, and what the recipe cannot express of its source."""
    return f"recipe {preset.name}: {preset.source}{f'; {preset.notes}' if preset.notes else ''}"


_CAPTION_FIELDS = (
    ("epochs", "epochs {}"),
    ("batch_size", "batch size {}"),
    ("max_length", "{} tokens"),
    ("limit_train", "limited to {} training rows"),
    ("precision", "{}"),
)
"""Fields of recipes that a caption shows, and how."""


def _recipe_text(result: Result) -> str:
    """Describe the chosen recipes; values that differ between tasks are separated by a slash."""
    cells = [cell for cell in result.cells if cell.chosen is not None and cell.restarts]
    methods = dict.fromkeys(cell.restarts[0].method for cell in cells)
    parts = ["/".join(methods)] if methods else []
    for name, text in _CAPTION_FIELDS:
        reading = (cell for cell in cells if _is_read(name, cell, result))
        values = dict.fromkeys(str(value) for cell in reading if (value := getattr(cell.chosen, name)) is not None)
        if values:
            parts.append(text.format("/".join(values)))
    for name in dict.fromkeys(name for cell in cells if cell.chosen is not None for name in cell.chosen.parameters):
        chosen = (cell.chosen.parameters for cell in cells if cell.chosen is not None)
        values = dict.fromkeys(str(parameters[name]) for parameters in chosen if name in parameters)
        parts.append(f"{name} {'/'.join(values)}")
    return ", ".join(parts)


def _chosen_rates(result: Result) -> str:
    """Say which learning rate each cell has, and whether dev chose it; a single rate for all cells is said once."""
    rates: dict[str, dict[str, str]] = {}
    for cell in result.cells:
        if cell.chosen is not None and _trained_in_steps(cell, result):
            rates.setdefault(cell.cell.task.name, {}).setdefault(cell.cell.backbone, f"{cell.chosen.lr:g}")
    every = {rate for of_task in rates.values() for rate in of_task.values()}
    if len(every) == 1:
        return f"learning rate {every.pop()}"
    names = [name for name in result.study.names if any(name in of_task for of_task in rates.values())]
    shown = (
        f"{task} {', '.join(of_task.get(name, '-') for name in names) if len({*of_task.values()}) > 1 else rate}"
        for task, of_task in rates.items()
        for rate in [next(iter(of_task.values()))]
    )
    order = f" (in the order {', '.join(names)})" if len(names) > 1 else ""
    is_chosen = any(len({point.recipe.lr for point in cell.cell.candidates}) > 1 for cell in result.cells)
    return f"learning rate{' chosen on dev' * is_chosen}{order}: {'; '.join(shown)}" if rates else ""


def _is_read(name: str, cell: CellResult, result: Result) -> bool:
    """Return whether a recipe field changes the fits of a cell; a method without a backbone reads its rows only."""
    if result.runner is not None and not result.runner.plugins.methods.find(cell.restarts[0].method).needs_backbone:
        return name == "limit_train"
    return name not in STEP_FIELDS or _trained_in_steps(cell, result)


def _trained_in_steps(cell: CellResult, result: Result) -> bool:
    """Return whether the fits of a cell have a learning rate; methods without steps have none."""
    if result.runner is None or not cell.restarts:
        return True
    return result.runner.plugins.methods.find(cell.restarts[0].method).trains_in_steps


def _run_ids(result: Result) -> Iterator[str]:
    for cell in result.cells:
        ids = ", ".join(fit.id for fit in cell.restarts)
        yield f"runs of {cell.cell.backbone} on {cell.cell.task.name}: {ids or 'none'}"


def footnotes(
    result: Result, published: PublishedChoice = NOTHING_PUBLISHED, statistics: StudyStatistics = NO_STATISTICS
) -> Iterator[str]:
    """Yield what the table cannot show: default methods that learn nothing, lost fits, absent scores and intervals,
    notes, and the sources of published figures.
    """
    for task in result.study.tasks:
        if task.method_reason and result.study.methods == ():
            yield f"{task.name} is answered by '{task.method}': {task.method_reason}"
    for cell in result.cells:
        yield from _absences(cell)
    yield from _by_reason(
        (f"{backbone} on {term.task} ({term.metric})", reason) for (backbone, term), reason in statistics.absent.items()
    )
    yield from _notes(result)
    shown = [figure for row in comparison_rows(result, statistics, published) for figure in row.published]
    yield from captions(shown)
    yield from published.notes_on_missing(shown)


def _absences(cell: CellResult) -> Iterator[str]:
    """Yield why fits of a cell have no scores, and why scores are absent."""
    where = f"{cell.cell.backbone} on {cell.cell.task.name}"
    fits_of: dict[str, list[str]] = {}
    for fit, reason in cell.lost.items():
        fits_of.setdefault(reason, []).append(fit)
    for reason, fits in fits_of.items():
        names = f"fit {fits[0]} has" if len(fits) == 1 else f"{len(fits)} fits ({fits[0]}, ...) have"
        yield f"{where}: {names} no scores: {reason}"
    for term, spread in cell.spreads.items():
        if spread.best.value is None:
            yield f"{where}: {term.metric} on {term.split} is absent: {spread.best.reason}"


def _by_reason(absences: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield each reason of a missing interval or test once, with the cells that it is about."""
    places: dict[str, list[str]] = {}
    for place, reason in absences:
        places.setdefault(reason, []).append(place)
    for reason, listed in places.items():
        yield f"no interval for {', '.join(listed[:2])}{f' and {len(listed) - 2} more' * (len(listed) > 2)}: {reason}"


def _notes(result: Result) -> Iterator[str]:
    """Yield each note once, with the backbones that it is about unless it is about all of them."""
    backbones_of: dict[tuple[str, str], list[str]] = {}
    for cell in result.cells:
        for note in cell.notes:
            backbones_of.setdefault((cell.cell.task.name, note), []).append(cell.cell.backbone)
    for (task, note), backbones in backbones_of.items():
        everywhere = len(set(backbones)) == len(result.study.names)
        yield f"{task}: {note}" if everywhere else f"{', '.join(dict.fromkeys(backbones))} on {task}: {note}"
