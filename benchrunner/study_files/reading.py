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
from dataclasses import dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from benchrunner.console.printing import shortened
from benchrunner.errors import PluginError, RequestError, UnknownName
from benchrunner.io.decoding import Mistake, decoded, key_of
from benchrunner.io.file_faults import shown, some_names
from benchrunner.io.json_files import read_toml
from benchrunner.leaderboards.published import PublishedRow
from benchrunner.parameters.parameter import NAME, Parameter
from benchrunner.studies.study import FULL, Column, Scale, Stage, Study, System, choose, named_by_method
from benchrunner.study_files.checks import as_request, check_names, check_study
from benchrunner.study_files.parameters import SEPARATORS, MissingValue, Values, parameter_values, refuse

T = TypeVar("T")

MOST_SYSTEMS = 10_000
"""Largest number of systems in a study file: more is a slip of the hand, and would fill the memory."""


class _Options(dict[str, str]):
    """Options of `compare` without their dashes; `rank` in an inner table `lora` is the option `lora.rank`."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> _Options:
        """Read the options from a table."""
        options = cls()
        for name, value in data.items():
            if isinstance(value, Mapping):
                options |= {f"{name}.{own}": text for own, text in cls.from_json(value).items()}
            elif isinstance(value, str):
                options[name] = value
            else:
                raise Mistake(f"expected text, found {shown(value)}.", name)
        return options


@dataclass(frozen=True)
class _Parameter:
    """A table [parameters.NAME]. The default is written like a value that a user sets; None if one is required."""

    about: str
    default: str | None = None
    kind: Literal["text", "list", "words"] = "text"


@dataclass(frozen=True)
class _Scale:
    """A table [scale.NAME]."""

    about: str
    values: Mapping[str, str] = field(default_factory=dict, metadata=key_of("set"))
    recipe: _Options = field(default_factory=_Options)


@dataclass(frozen=True)
class _Stage:
    """The key `first` of a system."""

    task: str
    recipe: _Options = field(default_factory=_Options)


@dataclass(frozen=True)
class _System:
    """A table [[system]]: one or several systems, before parameters are filled in."""

    name: str
    backbone: str
    each: Mapping[str, str] = field(default_factory=dict)
    family: str = ""
    method: str | tuple[str, ...] = ()
    make: str | tuple[str, ...] = ()
    figures: str = ""
    recipe: _Options = field(default_factory=_Options)
    first: _Stage | None = None
    ensemble: bool = False
    published: str = ""
    extra: bool = False
    series: str = ""
    at: str = ""


@dataclass(frozen=True)
class _Column:
    """A table [[column]]."""

    name: str
    task: str = ""
    split: str = ""
    metric: str = ""
    method: str = ""
    figure: str = ""
    mean: tuple[str, ...] = ()
    recipe: _Options = field(default_factory=_Options)
    published_on: str = field(default="", metadata=key_of("published-on"))
    extra: bool = False
    note: str = ""


@dataclass(frozen=True)
class _Published:
    """A table [[published]]; without a source, that of the file."""

    system: str
    cells: Mapping[str, float]
    source: str = ""
    variant: str = ""
    notes: str = ""


@dataclass(frozen=True, kw_only=True)
class _File:
    """The keys of a study file."""

    title: str
    about: str = ""
    source: str = ""
    parameters: Mapping[str, _Parameter] = field(default_factory=dict)
    templates: Mapping[str, str] = field(default_factory=dict)
    scale: Mapping[str, _Scale] = field(default_factory=dict)
    recipe: _Options = field(default_factory=_Options)
    systems: tuple[_System, ...] = field(metadata=key_of("system"))
    columns: tuple[_Column, ...] = field(metadata=key_of("column"))
    published: tuple[_Published, ...] = ()
    axis: str = ""
    board: str = ""


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
    file = decoded(_File, read_toml(path, RequestError), path, RequestError)
    name = name or path.stem
    chosen = _scale(file, scale, name, path)
    parameters = tuple(_parameter(own, entry, chosen, path) for own, entry in file.parameters.items())
    values = parameter_values(name, path, parameters, given)
    shown = {parameter.name: values.given(parameter) for parameter in parameters if parameter.name in values.words}
    for own, text in file.templates.items():
        _check_new_name(own, values, f"{path}: templates.{own}")
        values = values.with_template(own, text)
    try:
        study = Study(
            name=name,
            path=path,
            title=file.title,
            about=file.about,
            source=file.source,
            values=shown,
            recipe=_filled(file.recipe, values, f"{path}: recipe"),
            systems=_systems(file, values, name, path, systems),
            columns=tuple(_column(*place, values) for place in _places(path, "column", file.columns)),
            published=tuple(_published(*place, file) for place in _places(path, "published", file.published)),
            axis=file.axis,
            board=file.board,
            systems_down=True,
            scale=replace(chosen, recipe=_filled(chosen.recipe, values, f"{path}: scale.{scale}.recipe")),
        )
    except MissingValue as missing:
        needing = f" for {' and '.join(missing.systems)} (--systems A,B chooses others)" if missing.systems else ""
        refuse(name, parameters, f"needs a value for {missing.parameter}{needing}")
    check_study(study, path)
    return study


def _places(path: Path, key: str, entries: Iterable[T]) -> Iterator[tuple[str, T]]:
    """Yield each entry of a list of tables with its place in the file; the first field is its name."""
    for number, entry in enumerate(entries, start=1):
        name, *_ = vars(entry).values()
        yield f"{path}: [[{key}]] {number} ({some_names([name])})", entry


def _scale(file: _File, scale: str, study: str, path: Path) -> Scale:
    """Return the scale with this name; every scale of the file is checked."""
    scales = {FULL: Scale()}
    for name, entry in file.scale.items():
        if name == FULL:
            fault = "is the file itself, with the defaults of its parameters: remove it."
            raise RequestError(f"{path}: scale.{FULL}: {fault}")
        for key in entry.values:
            if key not in file.parameters:
                known = ", ".join(sorted(file.parameters))
                raise RequestError(f"{path}: scale.{name}.set.{key}: there is no such parameter; known: {known}.")
        scales[name] = Scale(name, entry.about, entry.values, entry.recipe)
    if scale not in scales:
        raise UnknownName("scale", scale, scales, f"The scales of {study}: {', '.join([*list(scales)[1:], FULL])}.")
    return scales[scale]


def _parameter(name: str, entry: _Parameter, scale: Scale, path: Path) -> Parameter:
    """Make a parameter, with the default that it has at a scale."""
    default = scale.values.get(name, entry.default)
    try:
        return Parameter(name, entry.about, default, str, separator=SEPARATORS[entry.kind])
    except PluginError as fault:
        raise RequestError(f"{path}: parameters.{name}: {fault}") from None


def _check_new_name(name: str, values: Values, place: str) -> None:
    if values.knows(name) or not re.fullmatch(NAME, name):
        raise RequestError(f"{place}: the name is taken already, or has more than a-z, 0-9, - and _.")


def _systems(file: _File, values: Values, study: str, path: Path, wanted: Iterable[str] | None) -> tuple[System, ...]:
    """Make the systems that the user asks for; the texts of others are not filled in."""
    named = []
    for place, entry in _places(path, "system", file.systems):
        for own in _combinations(entry, values, place):
            name, methods = own.text(entry.name, f"{place}: name"), _methods(entry, own, place)
            for method in methods:
                full = name if len(methods) == 1 else named_by_method(name, method or "")
                named.append((full, method, entry, own, place))
            if len(named) > MOST_SYSTEMS:
                raise RequestError(f"{place}: name: a study file has at most {MOST_SYSTEMS:,} systems.")
    check_names(path, "system", [name for name, *_ in named])
    chosen = choose(study, "system", {name: entry.extra for name, _, entry, *_ in named}, wanted)
    if not chosen:
        raise RequestError(f"{path}: a study needs at least one [[system]] that is not extra.")
    systems, missing = list[System](), dict[str, list[str]]()
    for name, method, entry, own, place in named:
        if name in chosen:
            try:
                systems.append(_system(name, method, entry, own, place))
            except MissingValue as error:
                missing.setdefault(error.parameter, []).append(name)
    for parameter, names in missing.items():
        raise MissingValue(parameter, names if len(names) < len(chosen) else [])
    return tuple(systems)


def _methods(entry: _System, values: Values, place: str) -> tuple[str | None, ...]:
    """Return the methods of an entry, each of which makes a system; None stands for each task's own method."""
    where = f"{place}: method"
    methods = tuple(values.text(text, where) or None for text in _listed(entry.method, where)) or (None,)
    if len(methods) > 1 and None in methods:
        raise RequestError(f"{where}: a name in the list is empty.")
    return methods


def _combinations(entry: _System, values: Values, place: str) -> Iterator[Values]:
    """Yield the values for each combination of the variables of `each`; the first variable varies slowest."""
    choices = []
    for name, template in entry.each.items():
        where = f"{place}: each.{name}"
        _check_new_name(name, values, where)
        choices.append([part.strip() for part in values.text(template, where).split(",") if part.strip()])
        if not choices[-1]:
            raise RequestError(f"{where}: nothing to choose from.")
    systems = math.prod(map(len, choices))
    if systems > MOST_SYSTEMS:
        made = f"this makes {shortened(systems)} systems; a study has at most {MOST_SYSTEMS:,}."
        raise RequestError(f"{place}: each: {made}")
    for chosen in itertools.product(*choices):
        system_values = values
        for name, value in zip(entry.each, chosen, strict=True):
            system_values = system_values.with_value(name, value)
        yield system_values


def _system(name: str, method: str | None, entry: _System, values: Values, place: str) -> System:
    commands = tuple(values.split(command, f"{place}: make") for command in _listed(entry.make, f"{place}: make"))
    entry = _filled(replace(entry, name="", method=(), make=(), each={}), values, place)
    if bool(entry.series) != bool(entry.at):
        raise RequestError(f"{place}: series: a point of a figure has both series and at.")
    own = {
        **vars(entry),
        "name": name,
        "family": entry.family or None,
        "method": method,
        "make": commands,
        "figures": Path(entry.figures) if entry.figures else None,
        "first": None if entry.first is None else Stage(**vars(entry.first)),
        "at": _number(entry.at, f"{place}: at") if entry.at else None,
    }
    del own["each"]
    return System(**own)


def _number(text: str, place: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise RequestError(f"{place}: '{text}' is not a number.") from None


def _column(place: str, entry: _Column, values: Values) -> Column:
    entry = _filled(entry, values, place)
    sources = [key for key in ("task", "figure", "mean") if getattr(entry, key)]
    if len(sources) > 1:
        fault = f"a column shows either a task's metric, a figure or a mean, not also {sources[0]}."
        raise RequestError(f"{place}: {sources[1]}: {fault}")
    idle = [key for key in ("split", "metric", "method", "recipe") if not entry.task and getattr(entry, key)]
    if idle:
        raise RequestError(f"{place}: {idle[0]}: is for columns of a task; this column has none.")
    absent = {key: getattr(entry, key) or None for key in ("split", "metric", "method")}
    return Column(**{**vars(entry), **absent})


def _published(place: str, entry: _Published, file: _File) -> PublishedRow:
    with as_request(place):
        return PublishedRow(**{**vars(entry), "source": entry.source or file.source})


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
