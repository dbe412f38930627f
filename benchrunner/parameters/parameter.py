"""A parameter: a value that users set by name, declared once with its text, default, kind, limits and readers."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, ClassVar, TypeVar, final

from benchrunner.errors import PluginError, RequestError
from benchrunner.io.messages import did_you_mean, quoted

Value = bool | int | float | str
"""A value of a method's parameter, or of a field of a recipe."""

T = TypeVar("T")

MOST_VALUES = 1000
"""Largest number of values in a range."""
NAME = r"[a-z][a-z0-9_-]*"
"""Pattern of a parameter's name."""

_KINDS: Mapping[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    Path: "a path",
}
"""Kind of a parameter -> how messages call its values."""

_TRUTHS: Mapping[str, bool] = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
"""Spellings of a value that is true or false."""

_PLACEHOLDERS: Mapping[type, str] = {int: "N", float: "X", str: "NAME", Path: "PATH"}
"""Kind of a parameter -> what stands for its value in the help."""


@final
@dataclass(frozen=True)
class Parameter:
    """A value that users set by name. Options, help, checks, files and documentation follow from the declaration."""

    PATTERN: ClassVar[str] = NAME

    name: str
    """Lower-case letters, digits, underscores and dashes, beginning with a letter."""
    about: str
    """What the parameter does; help and documentation show this text."""
    default: Any = None
    """A value that equals the default is not part of a fit's id, so that a new parameter changes no older id. None is
    a value of its own: nothing is set. A default of several parts may be a text, as users write it."""
    kind: type = NoneType
    """Type of the values: bool, int, float, str or Path; by default the type of the default."""
    at_least: float | None = None
    """Smallest value of a number; None is no limit."""
    above: float | None = None
    """Number that every value exceeds; None is no limit."""
    at_most: float | None = None
    """Largest value of a number; None is no limit."""
    below: float | None = None
    """Number that exceeds every value; None is no limit."""
    whole_above: float | None = None
    """Number above which values are whole, such as 1 for a share or a number of steps; None is no limit."""
    choices: tuple[Value, ...] = ()
    """All possible values; empty if others are possible."""
    separator: str = ""
    """What separates the parts of a value that is a tuple, when users write it; empty for a single value."""
    read_by: str = ""
    """Who reads the parameter, in words: "methods with a BiLSTM". Empty if everything does."""
    in_grid: bool = True
    """False for what belongs to the machine or to the user's data: grids and named recipes cannot set it."""
    shapes_head: bool = True
    """False if the value changes only how weights are trained. A fit also goes on from the head of a finished fit that
    has another value of such a parameter."""
    option: str = ""
    """Name of the command-line option where it is not the name of the parameter."""
    none: str = ""
    """What users write for None, for example "all" where nothing is left out; empty if it cannot be written."""

    def __post_init__(self) -> None:
        if self.kind is NoneType:
            object.__setattr__(self, "kind", type(self.default))
        if fault := self._fault():
            raise PluginError(f"The parameter {quoted(self.name)} cannot be used: {fault}.")

    def _fault(self) -> str:
        """Return why the declaration cannot be used, such as a default that is out of range; empty if it can."""
        if not isinstance(self.name, str) or not re.fullmatch(NAME, self.name):
            return "its name is not made of a-z, 0-9, - and _, beginning with a letter"
        if not isinstance(self.about, str) or not self.about.strip():
            return "it has no text that says what it does"
        if self.kind not in _KINDS:
            return "its default is neither a number, nor a text, nor True or False, and it has no other kind"
        if not isinstance(self.choices, tuple) or any(type(choice) is not self.kind for choice in self.choices):
            return "its choices are not a tuple of values of its kind"
        limits = {self.at_least, self.above, self.at_most, self.below}
        if limits != {None} and self.kind not in (int, float):
            return "it has a limit, and its values are no numbers"
        if self.separator and isinstance(self.default, str):
            return ""
        try:
            self.checked(self.default, "its default")
        except RequestError as refusal:
            return str(refusal).rstrip(".")
        return ""

    @property
    def values_text(self) -> str:
        """Which values are possible, in words."""
        if self.choices:
            return f"one of {', '.join(map(str, self.choices))}"
        limits = list[str]()
        if self.above is not None:
            limits.append(f"above {self.above:,}")
        if self.at_least is not None and self.at_most is not None:
            limits.append(f"from {self.at_least:,} to {self.at_most:,}")
        elif self.at_least is not None:
            limits.append(f"from {self.at_least:,} up")
        elif self.at_most is not None:
            limits.append(f"up to {self.at_most:,}")
        if self.below is not None:
            limits.append(f"below {self.below:,}")
        whole = "" if self.whole_above is None else f", whole above {self.whole_above:,}"
        none = f", or {self.none}" if self.none else ""
        return f"{_KINDS[self.kind]} {' and '.join(limits)}".strip() + whole + none

    def checked(self, value: object, name: str) -> Any:
        """Return a value with the parameter's kind; raise a `RequestError` with `name` if it is not possible."""
        if value is None and self.default is None:
            return None
        if not self.separator:
            return self._part(value, name)
        if not isinstance(value, tuple):
            raise RequestError(f"{name} must be a tuple, each part {self.values_text}, not {quoted(value)}.")
        return tuple(self._part(part, name) for part in value)

    def _part(self, value: Any, name: str) -> Any:
        """Check a single value, or a part of a value that is a tuple."""
        if self.kind is float and type(value) is int and abs(value) < 2**53:
            value = float(value)
        is_kind = isinstance(value, Path) if self.kind is Path else type(value) is self.kind
        if is_kind and self._is_allowed(value):
            return value
        shown = f"{value:,}" if type(value) is int else quoted(value)
        hint = did_you_mean(value, map(str, self.choices)) if isinstance(value, str) else ""
        raise RequestError(f"{name} must be {self.values_text}, not {shown}.{hint}")

    def _is_allowed(self, value: Any) -> bool:
        """Whether a value of the right kind is within the limits."""
        if self.choices:
            return value in self.choices
        if self.kind not in (int, float):
            return value != "" or not self.separator
        return (self.kind is int or math.isfinite(value)) and (
            (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
            and (self.whole_above is None or value <= self.whole_above or value == int(value))
        )

    def read(self, text: str, name: str) -> Any:
        """Read a value from a text; raise a `RequestError` with `name` if the text is not a possible value."""
        if not self.separator:
            return self.checked(self._parsed(text), name)
        parts = [self._parsed(part.strip()) for part in text.split(self.separator)]
        if "" in parts and self.kind is not str:
            self._part(text, name)  # its error shows the whole text
        return self.checked(tuple(parts), name)

    def read_values(self, text: str, name: str) -> tuple[Any, ...]:
        """Read one value from a text, or several that are separated by commas and make a grid.

        Of whole numbers, 1-4 is 1,2,3,4 and 100-400:100 is 100,200,300,400.
        """
        if not self.in_grid:
            return (self.read(text, name),)
        values = list[Any]()
        for part in text.split(","):
            ends = re.fullmatch(r"\s*(\d+)-(\d+)(?::(\d+))?\s*", part)
            if ends is None or self.kind is not int:
                values.append(self.read(part.strip(), name))
                continue
            first, last = self.read(ends[1], name), self.read(ends[2], name)
            distance = int(ends[3] or 1)
            if not 0 < distance <= last - first < MOST_VALUES * distance:
                raise RequestError(
                    f"{name} {part.strip()}: a range begins with its smaller number and has at most {MOST_VALUES:,} "
                    "numbers, such as 1-10, or 100-1000:100 for every hundredth."
                )
            values += range(first, last + 1, distance)
        return tuple(values)

    def _parsed(self, text: str) -> object:
        """Return the value that a text stands for; the text itself, which `checked` refuses, if it stands for none."""
        if self.kind is bool:
            return _TRUTHS.get(text.casefold(), text)
        if self.none and text == self.none:
            return None
        try:
            return self.kind(text)
        except ValueError:
            return text

    def add_to(self, group: argparse._ActionsContainer, *, several: bool = False) -> None:
        """Add the option of the command line; its value is None if it is not given.

        With `several`, its value is a tuple: one value, or a grid of several.
        """
        option = f"--{self.written}"
        if self.kind is bool:
            group.add_argument(option, dest=self.name, action=argparse.BooleanOptionalAction, help=self._help)
            return

        def value(text: str) -> Any:
            try:
                return self.read_values(text, option) if several else self.read(text, option)
            except RequestError as refusal:
                raise argparse.ArgumentError(None, str(refusal)) from None

        group.add_argument(option, dest=self.name, type=value, metavar=self._placeholder, help=self._help)

    def show_in(self, group: argparse._ArgumentGroup) -> None:
        """Add the parameter to a group of the help, without an option: `--set NAME=VALUE` sets it."""
        group._group_actions.append(argparse.Action([], self.written, metavar=self.written, help=self._help))

    @property
    def written(self) -> str:
        """The name as users write it."""
        return (self.option or self.name).replace("_", "-")

    @property
    def _placeholder(self) -> str:
        """What stands for the value in the help."""
        if self.choices:
            return f"{{{','.join(map(str, self.choices))}}}"
        part = _PLACEHOLDERS[self.kind]
        return f"{part}{self.separator}{part}" if self.separator else part

    @property
    def _help(self) -> str:
        """The help of the option: what it does, the default, details and who reads it."""
        readers = f"; for {self.read_by}" if self.read_by else ""
        what, mark, details = f"{self.about}{readers}".partition(";")
        default = f" ({self.default_text})" if self.default_text else ""
        return f"{what}{default}{mark}{details}"

    @property
    def default_text(self) -> str:
        """The default as users write it; empty if nothing is set."""
        if self.default in (None, "", ()):
            return ""
        if isinstance(self.default, bool):
            return "yes" if self.default else "no"
        parts = self.default if isinstance(self.default, tuple) else (self.default,)
        return self.separator.join(f"{part:,}" if self.kind is int else str(part) for part in parts)


def rare_options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the options that only `--help-all` shows: none if the command does not say which are `everyday`."""
    everyday = parser.get_default("everyday")
    options = [action for action in parser._actions if everyday and action.option_strings]
    return [action for action in options if action.dest not in everyday]


@final
class NamedValues(Mapping[str, T]):
    """Values by the names of parameters. The mapping never changes, so that it can be a key."""

    def __init__(self, values: Mapping[str, T] | None = None) -> None:
        self._values = dict(sorted((values or {}).items()))

    def __getitem__(self, name: str) -> T:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self._values == dict(other)

    def __repr__(self) -> str:
        return repr(self._values)
