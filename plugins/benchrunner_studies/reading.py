"""Read study files, which say what is compared: systems down, columns across, with parameters and scales."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast, final

from benchrunner import PluginError, PublishedRow, RequestError, UnknownName
from benchrunner.engine import Parameter
from benchrunner.results import Study, contrasts, study as parts
from benchrunner_studies.checks import as_request, check_arms, check_names, check_study, choose
from benchrunner_studies.parameters import SEPARATORS, MissingValue, Values, parameter_values, refuse
from benchrunner_studies.tables import (
    FileTable,
    Options,
    ParameterTable,
    PublishedTable,
    ScaleTable,
    SystemTable,
    places,
    read_tables,
)

T = TypeVar("T")


@final
@dataclass(frozen=True)
class StudyFile:
    """A study file with the values of its parameters filled in."""

    study: Study
    """The study without its cells, which follow from the options below."""
    recipe: Options
    """Options of `compare` for every fit."""
    scale: ScaleTable
    systems: Mapping[str, SystemTable]
    """The tables of the study's systems, by name."""
    columns: Mapping[str, Options]
    """The options of the study's columns, by name."""


def read_study_file(
    path: Path,
    given: Mapping[str, str],
    *,
    name: str = "",
    scale: str | None = None,
    systems: Iterable[str] | None = None,
) -> StudyFile:
    """Read a study file with these values of its parameters; raise a `RequestError` for a mistake in either.

    `systems` are the names of some of its systems; None means all that are not extra. Only parameters that these
    systems use need a value.
    """
    file = read_tables(path)
    name = name or path.stem
    scale = scale or parts.FULL
    chosen = _scale(file, scale, name, path)
    parameters = [_parameter(own, entry, chosen, path) for own, entry in file.parameters.items()]
    values = parameter_values(name, path, parameters, given)
    shown = {parameter.name: values.given(parameter) for parameter in parameters if parameter.name in values.words}
    for own, text in file.templates.items():
        place = f"{path}: templates.{own}"
        _check_new_name(own, values, place)
        values = values.with_template(own, text)
    try:
        recipe = _filled(file.recipe, values, f"{path}: recipe")
        named = _every_system(file, values, path)
        tables, made = _systems(named, name, path, systems)
        compared = _contrasts(file, values, named, made, path)
        columns, recipes = _columns(file, values, path)
        chosen = replace(chosen, recipe=_filled(chosen.recipe, values, f"{path}: scale.{scale}.recipe"))
    except MissingValue as missing:
        needing = f" for {' and '.join(missing.systems)} (--systems A,B chooses others)" if missing.systems else ""
        refuse(name, parameters, f"needs a value for {missing.parameter}{needing}")
    study = Study(
        made,
        columns,
        name=name,
        path=path,
        title=file.title,
        about=file.about,
        source=file.source,
        values=shown,
        published=tuple(_published(*place, file.source) for place in places(path, "published", file.published)),
        contrasts=compared,
        margin=parts.MARGIN.checked(file.margin, f"{path}: margin"),
        scale=parts.Scale(scale, chosen.about),
        axis=file.axis,
        board=file.board,
        systems_down=True,
    )
    check_study(study, path)
    return StudyFile(study, recipe, chosen, tables, recipes)


def _scale(file: FileTable, scale: str, study: str, path: Path) -> ScaleTable:
    """Return the scale with this name; every scale of the file is checked."""
    for name, entry in file.scale.items():
        if name == parts.FULL:
            fault = "is the file itself, with the defaults of its parameters: remove it."
            raise RequestError(f"{path}: scale.{parts.FULL}: {fault}")
        for key in entry.values:
            if key not in file.parameters:
                known = ", ".join(sorted(file.parameters))
                raise RequestError(f"{path}: scale.{name}.set.{key}: there is no such parameter; known: {known}.")
    scales = {**file.scale, parts.FULL: ScaleTable("")}
    if scale not in scales:
        raise UnknownName("scale", scale, scales, f"The scales of {study}: {', '.join(scales)}.")
    return scales[scale]


def _parameter(name: str, entry: ParameterTable, scale: ScaleTable, path: Path) -> Parameter:
    """Make a parameter, with the default that it has at a scale."""
    default = scale.values.get(name, entry.default)
    try:
        return Parameter(name, entry.about, default, str, separator=SEPARATORS[entry.kind])
    except PluginError as fault:
        raise RequestError(f"{path}: parameters.{name}: {fault}") from None


def _check_new_name(name: str, values: Values, place: str) -> None:
    if values.knows(name) or not re.fullmatch(Parameter.PATTERN, name):
        raise RequestError(f"{place}: the name is taken already, or has more than a-z, 0-9, - and _.")


@final
@dataclass(frozen=True)
class _NamedSystem:
    """A system of a table, before its texts are filled in."""

    name: str
    series: str
    arm: str
    method: str | None
    table: SystemTable
    values: Values
    """The values of parameters and of the table's `each`."""
    place: str


def _every_system(file: FileTable, values: Values, path: Path) -> list[_NamedSystem]:
    """Name the systems of all tables."""
    named = list[_NamedSystem]()
    for place, table in places(path, "system", file.systems):
        named += _named_systems(place, table, values)
    check_names(path, "system", [system.name for system in named])
    check_arms(path, {system.name: system.arm for system in named}, {system.series for system in named})
    return named


def _systems(
    named: Sequence[_NamedSystem], study: str, path: Path, wanted: Iterable[str] | None
) -> tuple[dict[str, SystemTable], tuple[parts.System, ...]]:
    """Make the systems that the user asks for, with their filled tables; the texts of others are not filled in."""
    chosen = choose(study, "system", {system.name: system.table.extra for system in named}, wanted)
    if not chosen:
        raise RequestError(f"{path}: a study needs at least one [[system]] that is not extra.")
    tables = {}
    systems = []
    missing = dict[str, list[str]]()
    for system in named:
        if system.name in chosen:
            try:
                tables[system.name], made = _system(system)
            except MissingValue as error:
                missing.setdefault(error.parameter, []).append(system.name)
            else:
                systems.append(made)
    for parameter, names in missing.items():
        raise MissingValue(parameter, names if len(names) < len(chosen) else [])
    return tables, tuple(systems)


def _named_systems(place: str, table: SystemTable, values: Values) -> Iterator[_NamedSystem]:
    """Yield the systems of a table: one for each combination of `each` and for each method."""
    for own in _combinations(table, values, place):
        name, methods = own.text(table.name, f"{place}: name"), _methods(table, own, place)
        series = own.text(table.series, f"{place}: series")
        arm = own.text(table.arm, f"{place}: arm")
        for method in methods:
            full_names = [name, arm]
            if len(methods) > 1:
                full_names = [parts.named_by_method(text, method or "") if text else "" for text in full_names]
            full_name, full_arm = full_names
            yield _NamedSystem(full_name, series, full_arm, method, table, own, place)


def _methods(table: SystemTable, values: Values, place: str) -> list[str | None]:
    """Return the methods of a table, each of which makes a system; None stands for each task's own method."""
    where = f"{place}: method"
    methods = [values.text(text, where) or None for text in _listed(table.method, where)]
    if len(methods) > 1 and None in methods:
        raise RequestError(f"{where}: a name in the list is empty.")
    return methods or [None]


def _combinations(table: SystemTable, values: Values, place: str) -> Iterator[Values]:
    """Yield the values for each combination of the variables of `each`; the first variable varies slowest."""
    choices = []
    for name, template in table.each.items():
        where = f"{place}: each.{name}"
        _check_new_name(name, values, where)
        texts = values.text(template, where).split(",")
        choices.append([text.strip() for text in texts if text.strip()])
        if not choices[-1]:
            raise RequestError(f"{where}: nothing to choose from.")
    for chosen in itertools.product(*choices):
        system_values = values
        for name, value in zip(table.each, chosen, strict=True):
            system_values = system_values.with_value(name, value)
        yield system_values


def _system(named: _NamedSystem) -> tuple[SystemTable, parts.System]:
    """Fill in the texts of a system's table, and make the system."""
    values, place = named.values, named.place
    commands = [values.split(command, f"{place}: make") for command in _listed(named.table.make, f"{place}: make")]
    unfilled = replace(named.table, name="", method=(), make=(), each={})
    table = _filled(unfilled, values, place)
    if bool(table.series) != bool(table.at):
        raise RequestError(f"{place}: series: a point of a figure has both series and at.")
    return table, parts.System(
        named.name,
        table.backbone,
        method=named.method,
        make=tuple(commands),
        figures=Path(table.figures) if table.figures else None,
        first=table.first.task if table.first is not None else "",
        ensemble=table.ensemble,
        published=table.published,
        extra=table.extra,
        series=table.series,
        at=None if table.at in ("", parts.place_text(None)) else _number(table.at, f"{place}: at"),
        arm=named.arm,
    )


def _contrasts(
    file: FileTable, values: Values, named: Sequence[_NamedSystem], systems: Sequence[parts.System], path: Path
) -> tuple[contrasts.Contrast, ...]:
    """Read which systems or arms are tested against which, from texts such as `one - other` and from `against`.

    Pairs with a system that is not run are left out.
    """
    known = set[str]()
    for entry in named:
        known |= {entry.name, entry.series, entry.arm}
    known.discard("")
    arm_of = {entry.name: entry.arm for entry in named}
    run = set[str]()
    for system in systems:
        run |= {system.name, system.series, system.arm}
    pairs = dict[contrasts.Contrast, None]()
    for template in file.contrast:
        sides = next(_divided(values.text(template, f"{path}: contrast"), known), None)
        if sides is None and "{" not in template:  # a name with a parameter may be of systems that other values make
            arms = dict.fromkeys(entry.arm for entry in named if entry.arm)
            kinds = f"ARM - ARM or SYSTEM - SYSTEM; the arms are {', '.join(arms)}" if arms else "SYSTEM - SYSTEM"
            raise RequestError(
                f"{path}: contrast: '{template}' is not {kinds}; the systems are "
                f"{', '.join(entry.name for entry in named)}."
            )
        if sides is None:
            continue
        if run.issuperset(sides):
            name, other = sides
            if other == arm_of.get(name) or name == arm_of.get(other):
                raise RequestError(f"{path}: contrast: of {name} and {other}, one is an arm that contains the other.")
            pairs[sides] = None
    compared = dict.fromkeys(system.arm or system.series or system.name for system in systems)
    pairs |= dict.fromkeys(_against(file.against, values, known, compared, path))
    return tuple(pairs)


def _divided(text: str, known: Collection[str]) -> Iterator[contrasts.Contrast]:
    """Yield each way to divide a text at a minus between two different known names; names may have a minus, too."""
    parts = text.split(" - ")
    for count in range(1, len(parts)):
        first = " - ".join(parts[:count]).strip()
        second = " - ".join(parts[count:]).strip()
        if first != second and first in known and second in known:
            yield first, second


def _against(
    template: str, values: Values, known: Collection[str], compared: Collection[str], path: Path
) -> tuple[contrasts.Contrast, ...]:
    """Return the contrasts of all others with the system or arm of `against`: of several, the first that is run."""
    text = values.text(template, f"{path}: against")
    names = [text] if text in known else [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known and "{" not in template:
            raise RequestError(f"{path}: against: there is no system or arm '{name}'.")
        if name in compared:
            return contrasts.against(name, compared)
    return ()


def _number(text: str, place: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise RequestError(f"{place}: '{text}' is not a number.") from None


def _columns(file: FileTable, values: Values, path: Path) -> tuple[tuple[parts.Column, ...], dict[str, Options]]:
    """Fill in the texts of the columns and of their options, which are returned by name."""
    columns = []
    recipes = {}
    for place, table in places(path, "column", file.columns):
        column = _filled(table.column, values, place)
        recipes[column.name] = _filled(table.recipe, values, f"{place}: recipe")
        sources = [key for key in ("task", "figure", "mean") if getattr(column, key)]
        if len(sources) > 1:
            fault = f"a column shows either a task's metric, a figure or a mean, not also {sources[0]}."
            raise RequestError(f"{place}: {sources[1]}: {fault}")
        for_tasks = {
            "split": column.split,
            "metric": column.metric,
            "select-by": column.select_by,
            "select-on": column.select_on,
            "method": column.method,
            "recipe": recipes[column.name],
        }
        for key, value in for_tasks.items():
            if value and not column.task:
                raise RequestError(f"{place}: {key}: is for columns of a task; this column has none.")
        columns.append(column)
    return tuple(columns), recipes


def _published(place: str, entry: PublishedTable, source: str) -> PublishedRow:
    with as_request(place):
        return PublishedRow(**{**vars(entry), "source": entry.source or source})


def _listed(texts: str | tuple[str, ...], place: str) -> tuple[str, ...]:
    if texts == "":
        raise RequestError(f"{place}: must not be empty.")
    return (texts,) if isinstance(texts, str) else texts


def _filled(value: T, values: Values, place: str) -> T:
    """Replace the parameters in all texts of a value."""
    filled: Any = value
    if isinstance(value, str):
        filled = values.text(value, place)
    elif isinstance(value, Mapping):
        filled = {name: _filled(text, values, f"{place}.{name}") for name, text in value.items()}
    elif is_dataclass(value):
        texts = {name: _filled(text, values, f"{place}: {name}") for name, text in vars(value).items()}
        filled = replace(value, **texts)  # type: ignore[type-var]
    return cast(T, filled)
