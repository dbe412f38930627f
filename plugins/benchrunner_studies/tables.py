"""The tables of a study file and their keys, before parameters are filled in.

    title = "Is a wide model better?"
    contrast = ["256 wide - 128 wide"]                          # what is tested; else all pairs of systems
    margin = 1.0                                                # points within which systems are equivalent

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

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from benchrunner import RequestError, json_files, quoted, some_names
from benchrunner.engine import decoding
from benchrunner.results import study as parts

T = TypeVar("T")


class Options(dict[str, str]):
    """Options of `compare` without their dashes; `rank` in an inner table `lora` is the option `lora.rank`."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Options:
        """Read the options from a table."""
        options = cls()
        for name, value in data.items():
            if isinstance(value, Mapping):
                for own, text in cls.from_json(value).items():
                    options[f"{name}.{own}"] = text
            elif isinstance(value, str):
                options[name] = value
            else:
                raise decoding.Mistake(f"expected text, found {quoted(value)}.", name)
        return options


@dataclass(frozen=True)
class ParameterTable:
    """A table [parameters.NAME]. The default is written like a value that a user sets; None if one is required."""

    about: str
    default: str | None = None
    kind: Literal["text", "list", "words"] = "text"


@dataclass(frozen=True)
class ScaleTable:
    """A table [scale.NAME]: the size at which a study runs."""

    about: str
    values: Mapping[str, str] = field(default_factory=dict, metadata=decoding.key_of("set"))
    """Parameter -> value in place of the parameter's default. It may contain parameters, as a default may."""
    recipe: Options = field(default_factory=Options)
    """Options in place of those of the file, its systems and its columns."""


@dataclass(frozen=True)
class StageTable:
    """The key `first` of a system: the task on which it is fine-tuned first. A stage has one restart."""

    task: str
    columns: tuple[str, ...] = ()
    """Names of the columns whose fits start from the fit to this task; empty means all columns."""
    recipe: Options = field(default_factory=Options)


@dataclass(frozen=True)
class SystemTable:
    """A table [[system]]: one or several systems."""

    name: str
    backbone: str
    each: Mapping[str, str] = field(default_factory=dict)
    method: str | tuple[str, ...] = ()
    make: str | tuple[str, ...] = ()
    figures: str = ""
    recipe: Options = field(default_factory=Options)
    first: StageTable | None = None
    ensemble: bool = False
    published: str = ""
    extra: bool = False
    series: str = ""
    at: str = ""
    arm: str = ""


@dataclass(frozen=True)
class ColumnTable:
    """A table [[column]]: the keys of a column, and options."""

    name: str
    column: parts.Column
    recipe: Options = field(default_factory=Options)


@dataclass(frozen=True)
class PublishedTable:
    """A table [[published]] of a study file: scores that a publication reports; `source` is by default the file's."""

    system: str
    cells: Mapping[str, float]
    source: str = ""
    variant: str = ""
    notes: str = ""


@dataclass(frozen=True, kw_only=True)
class FileTable:
    """The keys of a study file."""

    title: str
    about: str = ""
    source: str = ""
    parameters: Mapping[str, ParameterTable] = field(default_factory=dict)
    templates: Mapping[str, str] = field(default_factory=dict)
    scale: Mapping[str, ScaleTable] = field(default_factory=dict)
    recipe: Options = field(default_factory=Options)
    systems: tuple[SystemTable, ...] = field(metadata=decoding.key_of("system"))
    columns: tuple[ColumnTable, ...] = field(metadata=decoding.key_of("column"))
    published: tuple[PublishedTable, ...] = ()
    contrast: tuple[str, ...] = ()
    against: str = ""
    margin: float | None = None
    axis: str = ""
    board: str = ""


def read_tables(path: Path) -> FileTable:
    """Read the tables of a study file; raise a `RequestError` for a mistake in its form."""
    columns = {parts.Column: lambda table: table.made(parts.Column, label="", is_tested=True)}
    return decoding.decoded(FileTable, json_files.read_toml(path, RequestError), path, RequestError, columns)


def places(path: Path, key: str, entries: Iterable[T]) -> Iterator[tuple[str, T]]:
    """Yield each entry of a list of tables with its place in the file; the first field is its name."""
    for number, entry in enumerate(entries, start=1):
        name, *_ = vars(entry).values()
        place = f"[[{key}]] {number} ({some_names([name])})"
        yield f"{path}: {place}", entry
