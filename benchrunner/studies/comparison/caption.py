"""The lines below a study's table: conclusion, legend, what was run, and what the table cannot show."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping

from benchrunner.leaderboards.published_choice import PublishedChoice, captions
from benchrunner.parameters.recipes import RECIPE_FIELDS, NamedRecipe
from benchrunner.studies.cells import CellResult
from benchrunner.studies.comparison.conclusions import conclusions
from benchrunner.studies.comparison.layout import task_rows
from benchrunner.studies.comparison.marks import Marks
from benchrunner.studies.result import Result
from benchrunner.studies.study import Study

NOTHING_PUBLISHED = PublishedChoice()


def remarks(result: Result, published: PublishedChoice = NOTHING_PUBLISHED, *, run_ids: bool = False) -> Iterator[str]:
    """Yield all lines below a table. `run_ids` adds the ids of the fits."""
    yield from _about(result.study)
    if result.statistics.tests:
        yield from conclusions(result)
    yield from Marks.of(result).legend()
    yield from caption(result)
    for system, words in result.submissions.items():
        yield f"submission of {system}, without fitting again: benchrunner {shlex.join(words)}"
    if run_ids:
        yield from _run_ids(result)
    yield from footnotes(result, published)


def _about(study: Study) -> Iterator[str]:
    """Yield what a study file says about itself, its published figures and its columns."""
    if study.about:
        yield " ".join(study.about.split())
    if study.scale.about:
        yield f"scale {study.scale.name}: {' '.join(study.scale.about.split())}"
    shown = {column.name for column in study.columns}
    rows = [row for row in study.published if shown & row.cells.keys()]
    sources = dict[str, list[str]]()
    for row in rows:
        sources.setdefault(row.source, []).append(row.name)
    for source, names in sources.items():
        if source:
            yield f"paper: {source}" if source == study.source else f"paper ({', '.join(names)}): {source}"
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
        recipe = _recipe_text(result)
        yield f"{recipe}; {restarts}" if recipe else restarts
        if rates := _chosen_rates(result):
            yield rates
    yield from _presets(result)
    if result.statistics.intervals:
        yield "[95 %] is the interval over examples, for these restarts; the interval over restarts is in --format json"
    if facts is not None and facts.devices:
        versions = ", ".join(f"{library} {'/'.join(listed)}" for library, listed in facts.versions.items())
        yield f"{facts.seconds:,.0f} seconds of fitting on {', '.join(facts.devices)}{f'; {versions}' * bool(versions)}"


def _presets(result: Result) -> Iterator[str]:
    """Yield which named recipes fits used, each with the systems that it was used for unless these are all."""
    systems_of = dict[str, dict[str, None]]()
    for cell in result.cells:
        if (preset := cell.cell.fitting.preset) is not None:
            systems_of.setdefault(preset_note(preset), {})[cell.cell.system] = None
    for note, systems in systems_of.items():
        yield note if len(systems) == len(result.study.names) else f"{', '.join(systems)}: {note}"


def preset_note(preset: NamedRecipe) -> str:
    """Say which named recipe fits used, and what the recipe cannot express of its source."""
    return f"recipe {preset.name}: {preset.source}{f'; {preset.notes}' if preset.notes else ''}"


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
    methods, values = dict[str, None](), dict[str, dict[str, None]]()
    for cell in result.table_cells:
        if cell.chosen is None or not cell.restarts:
            continue
        methods[cell.restarts[0].method] = None
        for name in RECIPE_FIELDS:
            value = getattr(cell.chosen, name)
            if value is not None and _is_read(name, cell) and (name in _CAPTION_FIELDS or _is_varied(name, cell)):
                text = _CAPTION_FIELDS.get(name, f"{name.replace('_', ' ')} {{}}")
                values.setdefault(text, {})[str(value)] = None
        for name, value in cell.chosen.parameters.items():
            values.setdefault(f"{name} {{}}", {})[str(value)] = None
    parts = ["/".join(methods)] if methods else []
    for text in dict.fromkeys((*_CAPTION_FIELDS.values(), *values)):
        if text in values:
            parts.append(text.format("/".join(values[text])))
    return ", ".join(parts)


def _chosen_rates(result: Result) -> str:
    """Say which learning rate each cell has, and whether dev chose it; a single rate for all cells is said once."""
    rates, names, is_chosen = dict[str, dict[str, str]](), dict[str, None](), False
    for cell in result.table_cells:
        is_chosen = is_chosen or len({point.recipe.lr for point in cell.cell.candidates}) > 1
        if cell.chosen is not None and _trained_in_steps(cell):
            rates.setdefault(_titles(cell, result), {}).setdefault(cell.cell.system, f"{cell.chosen.lr:g}")
            names[cell.cell.system] = None
    every = {rate for of_task in rates.values() for rate in of_task.values()}
    if len(every) < 2:
        return f"learning rate {every.pop()}" if every else ""
    shown, ordered = list[str](), [name for name in result.study.names if name in names]
    for task, of_task in rates.items():
        listed = [of_task.get(name, "-") for name in ordered]
        shown.append(f"{task} {', '.join(listed) if len({*of_task.values()}) > 1 else next(iter(of_task.values()))}")
    order = f" (in the order {', '.join(ordered)})" if len(ordered) > 1 else ""
    return f"learning rate{' chosen on dev' * is_chosen}{order}: {'; '.join(shown)}"


def _titles(cell: CellResult, result: Result) -> str:
    """Name the columns of a cell."""
    titles = [column.title for column in result.study.columns if column.name in cell.cell.columns]
    return ", ".join(dict.fromkeys(titles))


def _is_read(name: str, cell: CellResult) -> bool:
    """Return whether a recipe field changes the fits of a cell."""
    if cell.runner is None:
        return True
    return cell.runner.plugins.methods.find(cell.restarts[0].method).reads(name, cell.cell.task.problem)


def _is_varied(name: str, cell: CellResult) -> bool:
    """Return whether dev chose among several values of a recipe field; other lines tell the learning rates."""
    return name != "lr" and len(cell.cell.fitting.grid.choices.get(name, ())) > 1


def _trained_in_steps(cell: CellResult) -> bool:
    """Return whether the fits of a cell have a learning rate; methods without steps have none."""
    if cell.runner is None or not cell.restarts:
        return True
    return cell.runner.plugins.methods.find(cell.restarts[0].method).trains_in_steps


def _run_ids(result: Result) -> Iterator[str]:
    for cell in result.table_cells:
        ids = ", ".join(fit.id for fit in cell.restarts)
        yield f"runs of {cell.cell.system} on {_titles(cell, result)}: {ids or 'none'}"


def footnotes(result: Result, published: PublishedChoice = NOTHING_PUBLISHED) -> Iterator[str]:
    """Yield what the table cannot show: default methods that learn nothing, lost fits, absent scores and intervals,
    notes, and the sources of published figures.
    """
    for task in result.study.tasks:
        if task.method_reason and result.study.methods == ():
            yield f"{task.name} is answered by '{task.method}': {task.method_reason}"
    yield from _notes(result)
    yield from _without_interval(result)
    if not result.study.systems_down:
        shown = [figure for row in task_rows(result, published) for figure in row.published]
        yield from captions(shown)
        yield from published.notes_on_missing(shown)


def _without_interval(result: Result) -> Iterator[str]:
    """Yield each reason of a missing interval or test once, with the figures that it is about."""
    places = dict[str, list[str]]()
    for (system, column), reason in result.statistics.absent.items():
        places.setdefault(reason, []).append(f"{system} on {column}")
    for reason, listed in places.items():
        yield f"no interval for {', '.join(listed[:2])}{f' and {len(listed) - 2} more' * (len(listed) > 2)}: {reason}"


def _notes(result: Result) -> Iterator[str]:
    """Yield each note about cells once, with all places that it is about."""
    places = dict[str, dict[str, dict[str, None]]]()  # note -> column -> systems
    for column in result.study.columns:
        for system in result.study.names:
            figure, cell = result.figures.get((system, column.name)), result.cell_at.get((system, column.name))
            if figure is not None and figure.mean.value is None:
                note = f"no figure: {figure.mean.reason}"
                places.setdefault(note, {}).setdefault(column.name, {})[system] = None
            for note in () if cell is None else _notes_of(cell, with_flags=result.study.systems_down):
                places.setdefault(note, {}).setdefault(column.title, {})[system] = None
    for note, systems_of in places.items():
        yield f"{_where(systems_of, all_systems=len(result.study.names))}: {note}"


def _notes_of(cell: CellResult, *, with_flags: bool) -> Iterator[str]:
    """Yield why fits of a cell have no scores, its flags where the table has no letters for them, and its notes."""
    fits_of = dict[str, list[str]]()
    for fit, reason in cell.lost.items():
        fits_of.setdefault(reason, []).append(fit)
    for reason, fits in fits_of.items():
        names = f"fit {fits[0]} has" if len(fits) == 1 else f"{len(fits)} fits ({fits[0]}, ...) have"
        yield f"{names} no scores: {reason}"
    for flag, count in cell.flagged.items() if with_flags else ():
        yield f"{flag} in {count} of {len(cell.restarts)} restart(s)"
    yield from cell.notes


def _where(systems_of: Mapping[str, Iterable[str]], *, all_systems: int) -> str:
    """Name columns with their systems in few words: columns with the same systems are named together."""
    columns_of = dict[tuple[str, ...], list[str]]()
    for column, systems in systems_of.items():
        columns_of.setdefault(tuple(systems), []).append(column)
    places = list[str]()
    for systems, columns in columns_of.items():
        listed = ", ".join(columns)
        places.append(listed if len(systems) == all_systems else f"{', '.join(systems)} on {listed}")
    return "; ".join(places)
