"""Read study files, which say what is compared: systems down, columns across, with parameters and scales.

    title = "Is a wide model better?"

    [parameters]
    corpus = {about = "text to learn from", kind = "list"}      # no default, so a value is required
    steps = {about = "training steps of each model", default = "1000"}

    [templates]                                                 # texts that several commands share
    learning = "--from {corpus} --warmup={steps/100}"

    [scale.tiny]                                                # for --scale tiny
    about = "a minute on a laptop"
    set = {corpus = "{here}/words.txt", steps = "20"}
    recipe = {limit-train = "32"}

    [[system]]
    each = {width = "128,256"}                                  # one entry, several systems
    name = "{width} wide"
    make = "learn {width} {learning} --out models/{width}"      # a benchrunner command
    backbone = "models/{width}"

    [[column]]
    name = "mood"
    task = "mine/mood"

    [[published]]
    system = "256 wide"
    cells = {mood = 91.5}

Kinds of parameters are text (the default), list (separated by commas) and words (separated as in a shell). `{name}` is
replaced by a parameter's value, by a value of `each` or by a template. A word of `make` that is only `{name}` becomes
as many words as the value has; in other places a list keeps its commas. See parameters.py for `{steps/100}`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path

from benchrunner.console.printing import shortened
from benchrunner.errors import RequestError, UnknownName
from benchrunner.io.strict_tables import StrictTable
from benchrunner.leaderboards.published import PublishedRow
from benchrunner.parameters.parameter import NAME, Parameter
from benchrunner.studies.study import FULL, Column, Scale, Stage, Study, System, choose, named_by_method
from benchrunner.study_files.checks import as_request, check_names, check_study
from benchrunner.study_files.parameters import MissingValue, Values, parameter_values, read_parameter, refuse

MOST_SYSTEMS = 10_000
"""Largest number of systems in a study file: more is a slip of the hand, and would fill the memory."""


def read_study_file(
    path: Path,
    given: Mapping[str, str],
    *,
    name: str = "",
    scale: str = FULL,
    systems: Iterable[str] | None = None,
) -> Study:
    """Read a study file with these values of its parameters; raise a `RequestError` for a mistake in either.

    `systems` are the names of some of its systems; None means all that are not extra. Only parameters that these
    systems use need a value.
    """
    top = StrictTable.toml(path, RequestError)
    name, title, about, source = name or path.stem, top.text("title"), top.text("about", ""), top.text("source", "")
    parameters = tuple(read_parameter(key, table) for key, table in top.named_tables("parameters").items())
    chosen = _scale(top, parameters, scale, name)
    parameters = tuple(
        replace(parameter, default=chosen.values.get(parameter.name, parameter.default)) for parameter in parameters
    )
    values = parameter_values(name, path, parameters, given)
    shown = {parameter.name: values.given(parameter) for parameter in parameters if parameter.name in values.words}
    values = _with_templates(top, values)
    try:
        study = Study(
            name=name,
            path=path,
            title=title,
            about=about,
            source=source,
            values=shown,
            recipe=_recipe(top, values),
            systems=_systems(top, values, name, systems),
            columns=tuple(_column(table, values) for table in top.tables("column", "name")),
            published=tuple(_published(table, source) for table in top.tables("published", "system", optional=True)),
            axis=top.text("axis", ""),
            board=top.text("board", ""),
            systems_down=True,
            scale=replace(chosen, recipe=_filled(chosen.recipe, values, f"{path}: scale.{scale}.recipe")),
        )
    except MissingValue as missing:
        needing = f" for {' and '.join(missing.systems)} (--systems A,B chooses others)" if missing.systems else ""
        refuse(name, parameters, f"needs a value for {missing.parameter}{needing}")
    top.finish()
    check_study(study, path)
    return study


def _scale(top: StrictTable, parameters: Iterable[Parameter], scale: str, study: str) -> Scale:
    """Return the scale with this name; every scale of the file is checked."""
    known = {parameter.name for parameter in parameters}
    scales = {FULL: Scale()}
    for name, table in top.named_tables("scale").items():
        if name == FULL:
            raise top.wrong(f"scale.{FULL}", "is the file itself, with the defaults of its parameters: remove it.")
        values = table.named_texts("set", optional=True)
        for key in values:
            if key not in known:
                raise table.wrong(f"set.{key}", f"there is no such parameter; known: {', '.join(sorted(known))}.")
        recipe = table.named_texts("recipe", optional=True, dotted=True)
        scales[name] = Scale(name, table.text("about"), values, recipe)
        table.finish()
    if scale not in scales:
        raise UnknownName("scale", scale, scales, f"The scales of {study}: {', '.join([*list(scales)[1:], FULL])}.")
    return scales[scale]


def _with_templates(top: StrictTable, values: Values) -> Values:
    """Add the templates: texts that are filled in where they are used, with the variables of `each` in that place."""
    for name, text in top.named_texts("templates", optional=True).items():
        place = top.place(f"templates.{name}")
        _check_new_name(name, values, place)
        values = values.with_template(name, text)
    return values


def _check_new_name(name: str, values: Values, place: str) -> None:
    if values.knows(name) or not re.fullmatch(NAME, name):
        raise RequestError(f"{place}: the name is taken already, or has more than a-z, 0-9, - and _.")


def _systems(top: StrictTable, values: Values, study: str, wanted: Iterable[str] | None) -> tuple[System, ...]:
    """Read the systems that the user asks for; entries of the others are checked for their keys only."""
    named = []
    for table in top.tables("system", "name"):
        for system_values in _combinations(table, values):
            name = system_values.text(table.text("name"), table.place("name"))
            methods = _methods(table, system_values)
            for method in methods:
                full = name if len(methods) == 1 else named_by_method(name, method or "")
                named.append((full, method, table, system_values))
            if len(named) > MOST_SYSTEMS:
                raise table.wrong("name", f"a study file has at most {MOST_SYSTEMS:,} systems.")
    check_names(top.path, "system", [name for name, *_ in named])
    chosen = choose(study, "system", {name: table.flag("extra") for name, _, table, _ in named}, wanted)
    if not chosen:
        raise RequestError(f"{top.path}: a study needs at least one [[system]] that is not extra.")
    systems, missing = list[System](), dict[str, list[str]]()
    for name, method, table, system_values in named:
        if name in chosen:
            try:
                systems.append(_system(name, method, table, system_values))
            except MissingValue as error:
                missing.setdefault(error.parameter, []).append(name)
    for parameter, names in missing.items():
        raise MissingValue(parameter, names if len(names) < len(chosen) else [])
    return tuple(systems)


def _methods(table: StrictTable, values: Values) -> tuple[str | None, ...]:
    """Read the methods of a system, each of which makes a system; None stands for each task's own method."""
    place = table.place("method")
    methods = tuple(values.text(text, place) or None for text in table.text_or_texts("method")) or (None,)
    if len(methods) > 1 and None in methods:
        raise table.wrong("method", "a name in the list is empty.")
    return methods


def _combinations(table: StrictTable, values: Values) -> Iterator[Values]:
    """Yield the values for each combination of the variables of `each`; the first variable varies slowest."""
    for key in _SYSTEM_KEYS:
        table.expect(key)
    table.finish()
    each = table.named_texts("each", optional=True)
    choices = []
    for name, template in each.items():
        place = table.place(f"each.{name}")
        _check_new_name(name, values, place)
        choices.append([part.strip() for part in values.text(template, place).split(",") if part.strip()])
        if not choices[-1]:
            raise RequestError(f"{place}: nothing to choose from.")
    systems = math.prod(map(len, choices))
    if systems > MOST_SYSTEMS:
        raise table.wrong("each", f"this makes {shortened(systems)} systems; a study has at most {MOST_SYSTEMS:,}.")
    for chosen in itertools.product(*choices):
        system_values = values
        for name, value in zip(each, chosen, strict=True):
            system_values = system_values.with_value(name, value)
        yield system_values


_SYSTEM_KEYS = ("each", *(field.name for field in fields(System)))


def _system(name: str, method: str | None, table: StrictTable, values: Values) -> System:
    def filled(key: str, default: str = "") -> str:
        return values.text(table.text(key, default), table.place(key))

    if bool(filled("series")) != bool(filled("at")):
        raise table.wrong("series", "a point of a figure has both series and at.")
    return System(
        name=name,
        backbone=values.text(table.text("backbone"), table.place("backbone")),
        family=filled("family") or None,
        method=method,
        make=tuple(values.split(command, table.place("make")) for command in table.text_or_texts("make")),
        figures=Path(filled("figures")) if "figures" in table else None,
        recipe=_recipe(table, values),
        first=_stage(table.table("first"), values) if "first" in table else None,
        ensemble=table.flag("ensemble"),
        published=filled("published"),
        extra=table.flag("extra"),
        series=filled("series"),
        at=_number(filled("at"), table.place("at")) if "at" in table else None,
    )


def _number(text: str, place: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise RequestError(f"{place}: '{text}' is not a number.") from None


def _stage(table: StrictTable, values: Values) -> Stage:
    stage = Stage(values.text(table.text("task"), table.place("task")), _recipe(table, values))
    table.finish()
    return stage


def _column(table: StrictTable, values: Values) -> Column:
    def filled(key: str) -> str:
        return values.text(table.text(key, ""), table.place(key))

    column = Column(
        name=values.text(table.text("name"), table.place("name")),
        task=filled("task"),
        split=filled("split") or None,
        metric=filled("metric") or None,
        method=filled("method") or None,
        figure=filled("figure"),
        mean=table.texts("mean") if "mean" in table else (),
        recipe=_recipe(table, values),
        published_on=filled("published-on"),
        extra=table.flag("extra"),
        note=filled("note"),
    )
    table.finish()
    sources = [key for key in ("task", "figure", "mean") if getattr(column, key)]
    if len(sources) > 1:
        raise table.wrong(
            sources[1], f"a column shows either a task's metric, a figure or a mean, not also {sources[0]}."
        )
    idle = [key for key in ("split", "metric", "method", "recipe") if not column.task and getattr(column, key)]
    if idle:
        raise table.wrong(idle[0], "is for columns of a task; this column has none.")
    return column


def _published(table: StrictTable, source: str) -> PublishedRow:
    with as_request(table.place("system")):
        row = PublishedRow(
            system=table.text("system"),
            source=table.text("source", source),
            cells=table.named_numbers("cells"),
            variant=table.text("variant", ""),
            notes=table.text("notes", ""),
        )
    table.finish()
    return row


def _recipe(table: StrictTable, values: Values) -> dict[str, str]:
    return _filled(table.named_texts("recipe", optional=True, dotted=True), values, table.place("recipe"))


def _filled(recipe: Mapping[str, str], values: Values, place: str) -> dict[str, str]:
    return {name: values.text(text, f"{place}.{name}") for name, text in recipe.items()}
