"""Studies as files: systems down, columns across, with parameters. What is asked, and nothing that runs.

    title = "Is a wide model better?"

    [parameters.corpus]
    about = "what they learn from"              # without a default: it must be given
    kind = "list"                               # text (the default), list (by comma) or words (as a shell splits them)

    [parameters.steps]
    about = "of each model"
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

`{name}` is a parameter's value or one of `each`. A word of `make` that is nothing else becomes as many words as the
value has; elsewhere a list keeps its commas. `{steps*2/5}` reckons with whole numbers, rounding down, and `{name.file}`
is fit to be a part of a file's name.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, final

from benchrunner.errors import RequestError, closest_names
from benchrunner.strict_tables import StrictTable

KINDS = ("text", "list", "words")
"""What a parameter's value may be: one word, several by comma, or several as a shell splits them."""

_NAME = r"[a-z][a-z0-9_-]*"
_HOLE = re.compile(r"\{([^{}]*)\}")
_FILLING = re.compile(rf"({_NAME})(\.file|(?:[*/][1-9][0-9]*)*)")


@final
@dataclass(frozen=True)
class Parameter:
    """What a user may set."""

    name: str
    about: str
    default: str | None
    """As it would be given; it may name parameters that stand before this one. None where there must be a value."""
    kind: str = "text"


@final
@dataclass(frozen=True)
class System:
    """A row: a backbone, and how it comes to be."""

    name: str
    backbone: str
    method: str | None = None
    """Instead of each task's own."""
    make: tuple[str, ...] | None = None
    """The words of a benchrunner command that makes the backbone, and that has nothing to do where it is made."""
    figures: Path | None = None
    """The log that making it leaves, with figures of the backbone itself."""


@final
@dataclass(frozen=True)
class Column:
    """A figure that every system has: a task's, or one of those that making it left."""

    name: str
    task: str = ""
    """Empty where `figure` says what the column shows."""
    split: str | None = None
    """One of those for development; None is the first."""
    metric: str | None = None
    """None is the task's headline."""
    method: str | None = None
    """Instead of the systems' and the task's own."""
    figure: str = ""
    """A key of the lines in `System.figures`; the last line that has it counts."""
    recipe: Mapping[str, str] = field(default_factory=dict)
    """Options of `compare`, for this column alone."""
    published: Mapping[str, float] = field(default_factory=dict)
    """System -> what was printed for it."""
    note: str = ""
    """What a reader of the column must know."""


@final
@dataclass(frozen=True)
class StudyFile:
    """A file with its parameters put in."""

    name: str
    path: Path
    title: str
    about: str
    source: str
    """Where the published figures were printed, and for what."""
    values: Mapping[str, str]
    """Parameter -> value, as it would be given: the same study again."""
    recipe: Mapping[str, str]
    """Options of `compare`, without their dashes -> values, for every column."""
    systems: tuple[System, ...]
    columns: tuple[Column, ...]

    @property
    def made(self) -> dict[tuple[str, ...], str]:
        """Every different command, in the order of the systems -> the first system that needs it."""
        found: dict[tuple[str, ...], str] = {}
        for system in self.systems:
            if system.make is not None:
                found.setdefault(system.make, system.name)
        return found

    def only(self, names: Iterable[str]) -> tuple[Column, ...]:
        """The columns of these names, in the file's order."""
        known = {one.name.casefold(): one for one in self.columns}
        wanted = dict.fromkeys(name.strip() for name in names if name.strip())
        for name in wanted:
            if name.casefold() not in known:
                have = ", ".join(one.name for one in self.columns)
                raise RequestError(f"{self.name} has no column '{name}'. It has: {have}.")
        folded = {name.casefold() for name in wanted}
        if not folded:
            raise RequestError(f"Which columns of {self.name}? It has: {', '.join(one.name for one in self.columns)}.")
        return tuple(one for one in self.columns if one.name.casefold() in folded)


def title(path: Path) -> str:
    """What a file is about, in a line."""
    return StrictTable.toml(path, RequestError).text("title")


def read(path: Path, given: Mapping[str, str], *, name: str = "") -> StudyFile:
    """A file's study with these values of its parameters; a mistake in either is a `RequestError`."""
    top = StrictTable.toml(path, RequestError)
    called, heading, about, source = name or path.stem, top.text("title"), top.text("about", ""), top.text("source", "")
    parameters = tuple(_parameter(key, table) for key, table in top.named_tables("parameters").items())
    values = _values(called, path, parameters, given)
    systems = tuple(one for table in top.tables("system", "name") for one in _systems(table, values))
    columns = tuple(_column(table, values) for table in top.tables("column", "name"))
    recipe = _recipe(top, values)
    top.finish()
    _once(path, "system", [one.name for one in systems])
    _once(path, "column", [one.name.casefold() for one in columns])
    _apart(path, systems)
    shown = {one.name: values.given(one) for one in parameters}
    return StudyFile(called, path, heading, about, source, shown, recipe, systems, columns)


def _once(path: Path, kind: str, names: list[str]) -> None:
    if not names:
        raise RequestError(f"{path}: a study needs at least one [[{kind}]].")
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise RequestError(f"{path}: two {kind}s are called '{twice[0]}'; each needs a name of its own.")


def _apart(path: Path, systems: Iterable[System]) -> None:
    made: dict[str, System] = {}
    for system in (one for one in systems if one.make is not None):
        other = made.setdefault(system.backbone, system)
        if other.make != system.make:
            raise RequestError(
                f"{path}: '{other.name}' and '{system.name}' are made by different commands, and would share the "
                f"backbone {system.backbone}; each needs one of its own."
            )


def _parameter(name: str, table: StrictTable) -> Parameter:
    default = table.text("default", "") if "default" in table else None
    found = Parameter(name, table.text("about"), default, table.text("kind", "text"))
    table.finish()
    if not re.fullmatch(_NAME, name):
        raise table.wrong("about", f"a parameter's name is made of a-z, 0-9, - and _, unlike '{name}'.")
    if found.kind not in KINDS:
        raise table.wrong("kind", f"expected one of {', '.join(KINDS)}, found '{found.kind}'.")
    return found


@final
@dataclass(frozen=True)
class _Values:
    """What stands for each name: its words, and how they are joined in the middle of a text."""

    words: Mapping[str, tuple[str, ...]]
    joints: Mapping[str, str]

    def and_one(self, name: str, value: str, kind: str) -> _Values:
        words: tuple[str, ...] = (value,)
        if kind == "list":
            words = tuple(one.strip() for one in value.split(",") if one.strip())
        elif kind == "words":
            words = tuple(shlex.split(value))
        joint = {"text": "", "list": ",", "words": " "}[kind]
        return _Values({**self.words, name: words}, {**self.joints, name: joint})

    def given(self, parameter: Parameter) -> str:
        """A value as it would be given: words that need quotes have them."""
        words = self.words[parameter.name]
        return shlex.join(words) if parameter.kind == "words" else self.joints[parameter.name].join(words)

    def default(self, parameter: Parameter, place: str) -> str:
        template = parameter.default or ""
        return shlex.join(self.split(template, place)) if parameter.kind == "words" else self.text(template, place)

    def text(self, template: str, place: str) -> str:
        """The template with its holes filled; `place` is where it stands, for people."""
        return _HOLE.sub(lambda hole: self._filling(hole[1], place), template)

    def split(self, template: str, place: str) -> tuple[str, ...]:
        """The words of a command. They are split first, so that a value with a blank in it stays one word."""
        try:
            parts = shlex.split(template)
        except ValueError as error:
            raise RequestError(f"{place}: cannot be split into words: {error}.") from None
        return tuple(word for part in parts for word in self._words(part, place))

    def _words(self, part: str, place: str) -> tuple[str, ...]:
        hole = _HOLE.fullmatch(part)
        return self.words[hole[1]] if hole and hole[1] in self.words else (self.text(part, place),)

    def _filling(self, asked: str, place: str) -> str:
        found = _FILLING.fullmatch(asked)
        if found is None:
            raise RequestError(f"{place}: {{{asked}}} is none of {{name}}, {{name.file}} and {{name*2/5}}.")
        name, more = found[1], found[2]
        if name not in self.words:
            close = closest_names(name, self.words)
            hint = f"Did you mean {close[0]}?" if close else f"Known here: {', '.join(sorted(self.words)) or 'none'}."
            raise RequestError(f"{place}: nothing says what {{{name}}} is. {hint}")
        value = self.joints[name].join(self.words[name])
        if more == ".file":
            return _file(name, value, place)
        return _reckoned(name, value, more, place) if more else value


def _file(name: str, value: str, place: str) -> str:
    """What of a value can stand in a file's name."""
    found = re.sub(r"[^\w.-]+", "-", value).strip("-.")
    if not found:
        raise RequestError(f"{place}: {{{name}.file}} is empty: of '{value}' nothing can stand in a file's name.")
    return found


def _reckoned(name: str, value: str, more: str, place: str) -> str:
    """A whole number times and divided by others, from left to right, rounded down."""
    if not re.fullmatch(r"[0-9]+", value):
        raise RequestError(f"{place}: {{{name}{more}}} needs a whole number, and {name} is '{value}'.")
    number = int(value)
    for sign, factor in re.findall(r"([*/])([0-9]+)", more):
        number = number * int(factor) if sign == "*" else number // int(factor)
    return str(number)


def _values(called: str, path: Path, parameters: tuple[Parameter, ...], given: Mapping[str, str]) -> _Values:
    for name in given:
        if name not in [one.name for one in parameters]:
            _refuse(called, parameters, f"has no parameter '{name}'")
    if missing := [one.name for one in parameters if one.default is None and not given.get(one.name)]:
        _refuse(called, parameters, f"must be told {' and '.join(missing)}")
    values = _Values({}, {})
    for one in parameters:
        place = f"{path}: parameters.{one.name}.default"
        value = given[one.name] if one.name in given else values.default(one, place)
        try:
            values = values.and_one(one.name, value, one.kind)
        except ValueError as error:  # a quote that is not closed
            raise RequestError(f"{called}: {one.name}={value} cannot be split into words: {error}.") from None
    return values


def _refuse(called: str, parameters: tuple[Parameter, ...], fault: str) -> NoReturn:
    """With everything that could have been said."""
    if not parameters:
        raise RequestError(f"{called} {fault}; it has none at all.")
    width = max(len(one.name) for one in parameters)
    lines = [f"  {one.name:<{width}}  {one.about} ({_standing(one)})" for one in parameters]
    raise RequestError("\n".join([f"{called} {fault}. With --set NAME=VALUE it is told", *lines]))


def _standing(parameter: Parameter) -> str:
    if parameter.default is None:
        return "must be set"
    return parameter.default or "nothing"


def _systems(table: StrictTable, values: _Values) -> Iterator[System]:
    """One, or as many as the variables of `each` have combinations; the first varies slowest."""
    each = table.named_texts("each", optional=True)
    choices = []
    for name, template in each.items():
        place = table.place(f"each.{name}")
        if name in values.words or not re.fullmatch(_NAME, name):
            raise RequestError(f"{place}: the name is a parameter's already, or has more than a-z, 0-9, - and _.")
        choices.append([one.strip() for one in values.text(template, place).split(",") if one.strip()])
        if not choices[-1]:
            raise RequestError(f"{place}: nothing to choose from.")
    for chosen in itertools.product(*choices):
        own = values
        for name, value in zip(each, chosen, strict=True):
            own = own.and_one(name, value, "text")
        yield _system(table, own)


def _system(table: StrictTable, values: _Values) -> System:
    def filled(key: str) -> str:
        return values.text(table.text(key), table.place(key))

    found = System(
        name=filled("name"),
        backbone=filled("backbone"),
        method=filled("method") if "method" in table else None,
        make=values.split(table.text("make"), table.place("make")) if "make" in table else None,
        figures=Path(filled("figures")) if "figures" in table else None,
    )
    table.finish()
    return found


def _column(table: StrictTable, values: _Values) -> Column:
    def filled(key: str) -> str:
        return values.text(table.text(key, ""), table.place(key))

    found = Column(
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
    if bool(found.task) == bool(found.figure):
        raise table.wrong("task", "a column shows either a task's metric or a figure: give one of task and figure.")
    idle = [key for key in ("split", "metric", "method", "recipe") if found.figure and getattr(found, key)]
    if idle:
        raise table.wrong(idle[0], "is for columns of a task; this one shows a figure.")
    return found


def _recipe(table: StrictTable, values: _Values) -> dict[str, str]:
    found = table.named_texts("recipe", optional=True)
    return {name: values.text(text, table.place(f"recipe.{name}")) for name, text in found.items()}
