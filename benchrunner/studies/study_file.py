"""Study files: systems down, columns across, with parameters. A study file says what is compared and runs nothing.

    title = "Is a wide model better?"

    [parameters.corpus]
    about = "text to learn from"                # no default, so a value is required
    kind = "list"                               # text (the default), list (by comma) or words (as a shell splits them)

    [parameters.steps]
    about = "training steps of each model"
    default = "1000"

    [[system]]
    each = {width = "128,256"}                  # one entry, several systems
    name = "{width} wide"
    make = "learn {width} --from {corpus} --warmup={steps/100} --out models/{width}"    # a benchrunner command
    backbone = "models/{width}"

    [[column]]
    name = "mood"
    task = "mine/mood"
    published = {"256 wide" = 91.5}

`{name}` is replaced by a parameter's value or by a value of `each`. A word of `make` that is only `{name}` becomes as
many words as the value has; in other places a list keeps its commas. See study_parameters.py for `{steps/100}`.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from benchrunner.errors import RequestError
from benchrunner.strict_tables import StrictTable
from benchrunner.studies.study_parameters import NAME, Parameter, Values, parameter_values


@final
@dataclass(frozen=True)
class System:
    """A row of the table: a backbone, and the command that builds it."""

    name: str
    backbone: str
    method: str | None = None
    """Method for every column; None means each task's own."""
    make: tuple[str, ...] | None = None
    """Words of a benchrunner command that builds the backbone. Must be idempotent: does nothing if the backbone exists.
    """
    figures: Path | None = None
    """Log that building the backbone leaves, with figures of the backbone itself."""


@final
@dataclass(frozen=True)
class Column:
    """A column of the table: a task's metric, or a figure from the log of building the backbone."""

    name: str
    task: str = ""
    """Empty if `figure` says what the column shows."""
    split: str | None = None
    """A dev split; None means the first."""
    metric: str | None = None
    """None means the task's headline. The metric selects the grid point and the restart too, on `split`."""
    method: str | None = None
    """Overrides the method of the systems and of the task."""
    figure: str = ""
    """A key of the lines in `System.figures`; the last line with the key counts."""
    recipe: Mapping[str, str] = field(default_factory=dict)
    """Options of `compare` for this column alone, without their dashes."""
    published: Mapping[str, float] = field(default_factory=dict)
    """System -> published figure."""
    note: str = ""
    """What a reader of the column must know."""


@final
@dataclass(frozen=True)
class StudyFile:
    """A study file with the values of its parameters."""

    name: str
    path: Path
    title: str
    about: str
    source: str
    """Publication of the published figures, and what these figures measure."""
    values: Mapping[str, str]
    """Parameter -> value, as a user would give it. Reading the file with these values gives the same study."""
    recipe: Mapping[str, str]
    """Options of `compare` for every column, without their dashes."""
    systems: tuple[System, ...]
    columns: tuple[Column, ...]

    @property
    def commands(self) -> dict[tuple[str, ...], str]:
        """Every different command, in the order of the systems -> the first system that needs the command."""
        commands: dict[tuple[str, ...], str] = {}
        for system in self.systems:
            if system.make is not None:
                commands.setdefault(system.make, system.name)
        return commands

    def columns_named(self, names: Iterable[str]) -> tuple[Column, ...]:
        """Return the columns with these names, in the file's order; upper and lower case are the same."""
        known = {column.name.casefold(): column for column in self.columns}
        listed = ", ".join(column.name for column in self.columns)
        requested = dict.fromkeys(name.strip() for name in names if name.strip())
        for name in requested:
            if name.casefold() not in known:
                raise RequestError(f"{self.name} has no column '{name}'. It has: {listed}.")
        if not requested:
            raise RequestError(f"Which columns of {self.name}? It has: {listed}.")
        folded = {name.casefold() for name in requested}
        return tuple(column for column in self.columns if column.name.casefold() in folded)


def read_study_file(path: Path, given: Mapping[str, str], *, name: str = "") -> StudyFile:
    """Read a study file with these values of its parameters; raise a `RequestError` for a mistake in either."""
    top = StrictTable.toml(path, RequestError)
    name, title, about, source = name or path.stem, top.text("title"), top.text("about", ""), top.text("source", "")
    parameters = tuple(Parameter.read(key, table) for key, table in top.named_tables("parameters").items())
    values = parameter_values(name, path, parameters, given)
    systems = tuple(system for table in top.tables("system", "name") for system in _systems(table, values))
    columns = tuple(_column(table, values) for table in top.tables("column", "name"))
    recipe = _recipe(top, values)
    top.finish()
    _check_names(path, "system", [system.name for system in systems])
    _check_names(path, "column", [column.name.casefold() for column in columns])
    _check_backbones(path, systems)
    shown = {parameter.name: values.given(parameter) for parameter in parameters}
    return StudyFile(name, path, title, about, source, shown, recipe, systems, columns)


def _check_names(path: Path, kind: str, names: list[str]) -> None:
    if not names:
        raise RequestError(f"{path}: a study needs at least one [[{kind}]].")
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise RequestError(f"{path}: two {kind}s are called '{repeated[0]}'; each needs a name of its own.")


def _check_backbones(path: Path, systems: Iterable[System]) -> None:
    """Raise a `RequestError` if two different commands build the same backbone."""
    built: dict[str, System] = {}
    for system in (system for system in systems if system.make is not None):
        first = built.setdefault(system.backbone, system)
        if first.make != system.make:
            raise RequestError(
                f"{path}: '{first.name}' and '{system.name}' are made by different commands, and would share the "
                f"backbone {system.backbone}; each needs a backbone of its own."
            )


def _systems(table: StrictTable, values: Values) -> Iterator[System]:
    """Yield one system, or one for each combination of the variables of `each`; the first variable varies slowest."""
    each = table.named_texts("each", optional=True)
    choices = []
    for name, template in each.items():
        place = table.place(f"each.{name}")
        if name in values.words or not re.fullmatch(NAME, name):
            raise RequestError(f"{place}: the name is a parameter's already, or has more than a-z, 0-9, - and _.")
        choices.append([part.strip() for part in values.text(template, place).split(",") if part.strip()])
        if not choices[-1]:
            raise RequestError(f"{place}: nothing to choose from.")
    for chosen in itertools.product(*choices):
        own = values
        for name, value in zip(each, chosen, strict=True):
            own = own.with_value(name, value, "text")
        yield _system(table, own)


def _system(table: StrictTable, values: Values) -> System:
    def filled(key: str) -> str:
        return values.text(table.text(key), table.place(key))

    system = System(
        name=filled("name"),
        backbone=filled("backbone"),
        method=filled("method") if "method" in table else None,
        make=values.split(table.text("make"), table.place("make")) if "make" in table else None,
        figures=Path(filled("figures")) if "figures" in table else None,
    )
    table.finish()
    return system


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
        recipe=_recipe(table, values),
        published=table.named_numbers("published") if "published" in table else {},
        note=filled("note"),
    )
    table.finish()
    if bool(column.task) == bool(column.figure):
        raise table.wrong("task", "a column shows either a task's metric or a figure: give one of task and figure.")
    idle = [key for key in ("split", "metric", "method", "recipe") if column.figure and getattr(column, key)]
    if idle:
        raise table.wrong(idle[0], "is for columns of a task; this column shows a figure.")
    return column


def _recipe(table: StrictTable, values: Values) -> dict[str, str]:
    texts = table.named_texts("recipe", optional=True)
    return {name: values.text(text, table.place(f"recipe.{name}")) for name, text in texts.items()}
