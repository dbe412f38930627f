"""What is said below a study's table: conclusions, legend, what was run, and what the table cannot show."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benchrunner.leaderboards.published_choice import PublishedChoice, captions
from benchrunner.methods.method import Method
from benchrunner.parameters.recipes import RECIPE_FIELDS, NamedRecipe
from benchrunner.studies.cells import ABSENT, CellResult
from benchrunner.studies.comparison.conclusions import conclusions, grouped
from benchrunner.studies.comparison.layout import NOTHING_PUBLISHED, task_rows
from benchrunner.studies.comparison.marks import Marks
from benchrunner.studies.comparison.verdict import seen_from
from benchrunner.studies.result import Result
from benchrunner.studies.study import Column, Place, Study
from benchrunner.studies.until_clear import unclear_cells


def remarks(result: Result, published: PublishedChoice = NOTHING_PUBLISHED, *, run_ids: bool = False) -> Iterator[str]:
    """Yield all lines below a table. `run_ids` adds the ids of the fits."""
    yield from _about(result.study)
    yield from conclusions(result)
    yield from Marks.of(result).legend()
    yield from caption(result)
    yield from cost_notes(result)
    for system, words in result.submissions.items():
        yield f"submission of {system}, without fitting again: benchrunner {shlex.join(words)}"
    if run_ids:
        for cell in result.table_cells:
            ids = ", ".join(fit.id for fit in cell.restarts)
            yield f"runs of {cell.cell.system} on {_titles(cell, result)}: {ids or 'none'}"
    yield from footnotes(result, published)


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


def caption(result: Result) -> Iterator[str]:
    """Yield what was run: recipe, seeds, chosen learning rates, named recipes, intervals, seconds and machine."""
    fitting, facts = result.study.fitting, result.computing
    if fitting is not None:
        count, seeds = len(fitting.seeds), ", ".join(map(str, fitting.seeds))
        restarts = f"{count} restarts (seeds {seeds})" if count > 1 else f"seed {seeds}"
        if fitting.looks:
            restarts = _restarts(result)
        recipe = _recipe_text(result)
        yield f"{recipe}; {restarts}" if recipe else restarts
        rates = _chosen_rates(result)
        if rates:
            yield rates
    yield from _presets(result)
    if result.statistics.intervals:
        yield "[95 %] is the interval over examples, for these restarts; the interval over restarts is in --format json"
    if facts is not None and facts.devices:
        versions = [f"{library} {'/'.join(listed)}" for library, listed in facts.versions.items()]
        with_versions = f"; {', '.join(versions)}" if versions else ""
        yield f"{facts.seconds:,.0f} seconds of fitting on {', '.join(facts.devices)}{with_versions}"


def cost_notes(result: Result) -> Iterator[str]:
    """Yield how the costs were measured, and why one is absent."""
    for note, quantities in grouped((cost.note, cost.quantity) for cost in result.costs).items():
        if note:
            yield f"{', '.join(quantities)}: {note}"


def _presets(result: Result) -> Iterator[str]:
    """Yield which named recipes fits used, each with the systems that it was used for unless these are all."""
    used = []
    for cell in result.cells:
        preset = cell.cell.fitting.preset
        if preset is not None:
            used.append((_preset_note(preset), cell.cell.system))
    for note, systems in grouped(used).items():
        yield note if len(systems) == len(result.study.names) else f"{', '.join(systems)}: {note}"


def _preset_note(preset: NamedRecipe) -> str:
    """Say which named recipe fits used, and what the recipe cannot express of its source."""
    notes = f"; {preset.notes}" if preset.notes else ""
    return f"recipe {preset.name}: {preset.source}{notes}"


_CAPTION_FIELDS = {
    "epochs": "epochs {}",
    "batch_size": "batch size {}",
    "max_length": "{} tokens",
    "limit_train": "limited to {} training rows",
    "precision": "{}",
}
"""Fields of recipes that a caption always shows, and how; it also names the fields that a grid varies."""


def _recipe_text(result: Result) -> str:
    """Describe the chosen recipes; values that differ between tasks are separated by a slash."""
    forms = dict(_CAPTION_FIELDS)
    chosen = []
    methods = dict[str, None]()
    for cell in result.table_cells:
        if cell.restarts:
            methods[cell.restarts[0].method] = None
            for name, value in _shown_values(cell):
                own_form = f"{name if '.' in name else name.replace('_', ' ')} {{}}"
                forms.setdefault(name, own_form)
                chosen.append((name, str(value)))
    parts = ["/".join(methods)] if methods else []
    values = grouped(chosen)
    for name, form in forms.items():
        if name in values:
            parts.append(form.format("/".join(values[name])))
    return ", ".join(parts)


def _shown_values(cell: CellResult) -> Iterator[tuple[str, Any]]:
    """Yield the values of the chosen recipe that a caption names, with the parameters of methods."""
    if cell.chosen is None:
        return
    method, task = _method(cell), cell.cell.task
    for name in RECIPE_FIELDS:
        value = getattr(cell.chosen, name)
        is_varied = len(cell.cell.fitting.grid.choices.get(name, ())) > 1 and name != "lr"  # see `_chosen_rates`
        is_read = method is None or method.reads(name, task.problem)
        if value is not None and is_read and (name in _CAPTION_FIELDS or is_varied):
            yield name, value
    yield from cell.chosen.parameters.items()


def _method(cell: CellResult) -> Method | None:
    """Return the method of a cell's fits; None if it is not known."""
    if cell.runner is None or not cell.restarts:
        return None
    return cell.runner.plugins.methods.find(cell.restarts[0].method)


def _chosen_rates(result: Result) -> str:
    """Say which learning rate each cell has, and whether dev chose it; a single rate for all cells is said once."""
    rates = dict[str, dict[str, str]]()
    is_chosen = False
    for cell in result.table_cells:
        is_chosen = is_chosen or len({point.recipe.lr for point in cell.cell.candidates}) > 1
        method = _method(cell)
        if cell.chosen is not None and (method is None or method.trains_in_steps):
            of_task = rates.setdefault(_titles(cell, result), {})
            of_task.setdefault(cell.cell.system, f"{cell.chosen.lr:g}")
    return _by_task("learning rate", rates, result, " chosen on dev" * is_chosen)


def _restarts(result: Result) -> str:
    """Say how many restarts each cell has."""
    counts: dict[str, dict[str, str]] = {}
    for cell in result.table_cells:
        counts.setdefault(_titles(cell, result), {})[cell.cell.system] = str(len(cell.chosen_fits))
    return _by_task("restarts", counts, result, "")


def _by_task(name: str, values: Mapping[str, Mapping[str, str]], result: Result, more: str) -> str:
    """Say the value of each system on each task; `more` is added to the name unless all values are equal."""
    every = set[str]()
    systems = set[str]()
    for of_task in values.values():
        every.update(of_task.values())
        systems.update(of_task)
    if len(every) < 2:
        return f"{name} {every.pop()}" if every else ""
    ordered = [name for name in result.study.names if name in systems]
    shown = []
    for titles, of_task in values.items():
        listed = list(dict.fromkeys(of_task.values()))
        if len(listed) > 1:
            listed = [of_task.get(name, ABSENT) for name in ordered]
        shown.append(f"{titles} {', '.join(listed)}")
    order = f" (in the order {', '.join(ordered)})" if len(ordered) > 1 else ""
    return f"{name}{more}{order}: {'; '.join(shown)}"


def _titles(cell: CellResult, result: Result) -> str:
    """Name the columns of a cell."""
    titles = [column.title for column in result.study.columns if column.name in cell.cell.columns]
    return ", ".join(dict.fromkeys(titles))


def footnotes(result: Result, published: PublishedChoice = NOTHING_PUBLISHED) -> Iterator[str]:
    """Yield what the table cannot show: default methods that learn nothing, lost fits, absent scores and intervals,
    notes, and the sources of published figures.
    """
    for task in result.study.tasks:
        if task.method_reason and result.study.methods == ():
            yield f"{task.name} is answered by '{task.method}': {task.method_reason}"
    yield from _notes(result)
    for clusters, columns in grouped((clusters, name) for name, clusters in result.statistics.clusters.items()).items():
        if clusters.are_few:
            yield (
                f"{', '.join(columns)}: the {clusters.rows:,} rows are of {clusters.number} different values of "
                f"'{clusters.name}'; intervals and tests ask about others, of which so few tell little"
            )
    yield from _unequal_trials(result)
    if result.study.looks:
        yield from _looks(result)
    without_interval = []
    for (system, column), reason in result.statistics.absent.items():
        without_interval.append((reason, f"{system} on {column}"))
    for reason, places in grouped(without_interval).items():
        more = f" and {len(places) - 2} more" if len(places) > 2 else ""
        yield f"no interval for {', '.join(places[:2])}{more}: {reason}"
    if not result.study.systems_down:
        shown = [figure for row in task_rows(result, published) for figure in row.published]
        yield from captions(shown)
        yield from published.notes_on_missing(shown)


def _looks(result: Result) -> Iterator[str]:
    """Yield that restarts were added until clear, where that is not reached, and what may spoil the level."""
    yield f"{result.cells[-1].cell.fitting.looks_note}; a clear difference is that of the look that showed it"
    points_of = dict[str, float]()
    for (system, _, column), test in result.statistics.tests.items():
        if test.comparison.parts and not test.is_clear:
            points = test.comparison.detectable * result.figures[system, column].scale
            points_of[column] = max(points, points_of.get(column, 0.0))
    if points_of:
        seen = [f"{column} ({seen_from(points)})" for column, points in points_of.items()]
        yield f"still not clear: {', '.join(seen)}"
    waiting = unclear_cells(result)
    if waiting:
        yield f"with a larger budget, or none, the same command adds restarts to {', '.join(waiting)}"
    if result.study.begun_after:
        yield (
            f"fits of this study were run before, for {', '.join(result.study.begun_after)}, without these looks: if "
            "what they showed made you add restarts, false marks are more frequent than 5 %"
        )


def _unequal_trials(result: Result) -> Iterator[str]:
    """Say where the systems that are compared chose among different numbers of grid points, which favours the most.

    Where one half of dev chose and the other is scored, the choice favours none.
    """
    if result.study.select_on_half:
        return
    unequal = []
    for column in result.study.columns:
        points = {}
        for system in result.study.names:
            cell = result.cell_at.get((system, column.name))
            if cell is not None and column.is_tested:
                points[system] = len(cell.cell.candidates)
        if len(set(points.values())) > 1:
            listed = ", ".join(f"{system} {count}" for system, count in points.items())
            unequal.append((listed, column.title))
    for listed, columns in grouped(unequal).items():
        yield (
            f"{', '.join(columns)}: the systems chose among different numbers of grid points "
            f"({listed}); the choice on dev favours the system with more of them, by chance alone: --select-on-half "
            "scores other rows than those that chose"
        )


def _notes(result: Result) -> Iterator[str]:
    """Yield each note about cells once, with all places that it is about."""
    places = dict[str, list[tuple[str, str]]]()
    for column in result.study.columns:
        for system in (*result.study.names, *result.study.arms):
            for note, name in _notes_at((system, column.name), column, result):
                places.setdefault(note, []).append((name, system))
    for note, about in places.items():
        yield f"{_where(about, all_systems=len(result.study.names))}: {note}"


def _notes_at(place: Place, column: Column, result: Result) -> Iterator[tuple[str, str]]:
    """Yield why a figure is absent and the notes about the fits behind it, each with the name of the column."""
    figure, cell = result.figures.get(place), result.cell_at.get(place)
    if figure is not None and figure.mean.value is None:
        yield f"no figure: {figure.mean.reason}", column.name
    if cell is None:
        return
    for reason, fits in grouped((reason, fit) for fit, reason in cell.lost.items()).items():
        names = f"fit {fits[0]} has" if len(fits) == 1 else f"{len(fits)} fits ({fits[0]}, ...) have"
        yield f"{names} no scores: {reason}", column.title
    if 0 < cell.collapsed < len(cell.chosen_fits):
        yield _collapsed_note(cell, place, result), column.title
    for note in cell.notes:
        yield note, column.title


def _collapsed_note(cell: CellResult, place: Place, result: Result) -> str:
    """Say which share of fits collapses, and what can be said instead of the difference of the means."""
    from benchrunner.statistics.intervals import share_interval

    fits = len(cell.chosen_fits)
    share = share_interval(cell.collapsed, fits)
    said = (
        f"{cell.collapsed} of {fits} restarts learned nothing or have no score (95 % interval of their share: "
        f"{100 * share.low:.0f} to {100 * share.high:.0f} %), so that a mean of few restarts says little"
    )
    chances = {}
    for other, test in result.statistics.of_place(place).items():
        if test.chance is not None:
            chances[other] = test.chance
    if chances:
        hardest = min(chances, key=lambda other: chances[other].value)
        chance = chances[hardest]
        said += (
            f"; a new fit beats one of {hardest} with a chance of {100 * chance.value:.0f} % "
            f"({100 * chance.low:.0f} to {100 * chance.high:.0f} %)"
        )
    return said


def _where(about: Iterable[tuple[str, str]], *, all_systems: int) -> str:
    """List pairs of a column and a system in few words: columns that have the same systems are named together."""
    columns_of = grouped((tuple(systems), column) for column, systems in grouped(about).items())
    places = []
    for systems, columns in columns_of.items():
        listed = ", ".join(columns)
        places.append(listed if len(systems) == all_systems else f"{', '.join(systems)} on {listed}")
    return "; ".join(places)
