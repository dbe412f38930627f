"""Parameters that a method declares for itself: hyper-parameters that only this method reads."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, final

from benchrunner.console.printing import value_text
from benchrunner.errors import PluginError, RequestError, closest_names
from benchrunner.parameters.number_limits import shortened

Value = bool | int | float | str
"""A value of a parameter; its type is that of the parameter's default."""

T = TypeVar("T")

NAME = r"[a-z][a-z0-9_]*"
"""Pattern of a parameter's name."""

_TYPES: Mapping[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
"""Type of a parameter -> how messages call its values."""


@final
@dataclass(frozen=True)
class MethodParameter:
    """A hyper-parameter that only one method reads. Users set it as `METHOD.NAME`, for example `lora.rank`.

    The type of the default (whole number, number, text, or true and false) is the type of all values.
    """

    name: str
    """Lower-case letters, digits and underscores, beginning with a letter."""
    about: str
    """What the parameter does; `benchrunner list methods` shows this text."""
    default: Value
    """A value that equals the default is not part of a fit's id, so that a new parameter changes no older id."""
    at_least: float | None = None
    """Smallest value of a number; None is no limit."""
    above: float | None = None
    """Number that every value exceeds; None is no limit."""
    at_most: float | None = None
    """Largest value of a number; None is no limit."""
    choices: tuple[Value, ...] = ()
    """All possible values; empty if others are possible."""
    shapes_head: bool = True
    """False if the value changes only how weights are trained. A fit also goes on from the head of a finished fit that
    has another value of such a parameter."""

    def fault(self) -> str:
        """Return why the declaration cannot be used, such as a default that is out of range; empty if it can."""
        if not isinstance(self.name, str) or not re.fullmatch(NAME, self.name):
            return f"the name {value_text(self.name)} is not made of a-z, 0-9 and _, beginning with a letter"
        if not isinstance(self.about, str) or not self.about.strip():
            return f"'{self.name}' has no text that says what it does"
        if type(self.default) not in _TYPES:
            return f"the default of '{self.name}' is neither a number, nor a text, nor True or False"
        if not isinstance(self.choices, tuple) or any(type(value) is not type(self.default) for value in self.choices):
            return f"the choices of '{self.name}' are not a tuple of values like its default"
        limits = [limit for limit in (self.at_least, self.above, self.at_most) if limit is not None]
        if limits and type(self.default) not in (int, float):
            return f"'{self.name}' has a limit, and its default is no number"
        try:
            self.checked(self.default, self.name)
        except RequestError as refusal:
            return f"the default is out of range: {refusal}"
        return ""

    @property
    def values_text(self) -> str:
        """Which values are possible, in words."""
        if self.choices:
            return f"one of {', '.join(map(str, self.choices))}"
        kind, words = _TYPES[type(self.default)], list[str]()
        if self.above is not None:
            words.append(f"above {self.above:,}")
        if self.at_least is not None and self.at_most is not None:
            words.append(f"from {self.at_least:,} to {self.at_most:,}")
        elif self.at_least is not None:
            words.append(f"from {self.at_least:,} up")
        elif self.at_most is not None:
            words.append(f"up to {self.at_most:,}")
        return f"{kind} {' and '.join(words)}".strip()

    def checked(self, value: object, name: str) -> Value:
        """Return a value with the parameter's type; raise a `RequestError` with `name` if it is not possible."""
        kind = type(self.default)
        if kind is float and type(value) is int and abs(value) < 2**53:
            value = float(value)
        if type(value) is not kind or not self._is_allowed(value):
            raise RequestError(f"{name} must be {self.values_text}, not {_shown(value)}.")
        return value

    def _is_allowed(self, value: object) -> bool:
        if self.choices:
            return value in self.choices
        if isinstance(value, bool | str):
            return True
        assert isinstance(value, int | float)
        if not math.isfinite(value):
            return False
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
        )

    def another(self) -> Value | None:
        """Return a possible value that is not the default; None if none is found."""
        default = self.default
        others: tuple[Value, ...] = self.choices
        if isinstance(default, bool):
            others = others or (not default,)
        elif isinstance(default, str):
            others = others or (f"{default}x",)
        else:
            others = others or (default + 1, default - 1, type(default)(default / 2))
        return next((value for value in others if value != default and self._is_allowed(value)), None)

    def read(self, text: str, name: str) -> Value:
        """Read a value from a text; raise a `RequestError` with `name` if the text is not a possible value."""
        kind, value = type(self.default), object()
        if kind is bool:
            value = {"true": True, "false": False}.get(text.casefold(), text)
        else:
            try:
                value = kind(text)
            except ValueError:
                value = text
        return self.checked(value, name)


def _shown(value: object) -> str:
    if type(value) is int:
        return shortened(value)
    return value_text(value)


@final
class ParameterValues(Mapping[str, T]):
    """What is set of methods' parameters, by `METHOD.NAME`. The mapping never changes, so that it can be a key."""

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


def is_parameter(name: str) -> bool:
    """Return whether a name can be that of a method's parameter, `METHOD.NAME`."""
    method, _, own = name.rpartition(".")
    return bool(method) and re.fullmatch(NAME, own) is not None


def check_declared(parameters: object, method: str) -> None:
    """Raise a `PluginError` if a method's `parameters` cannot be used."""
    if not isinstance(parameters, tuple) or not all(isinstance(value, MethodParameter) for value in parameters):
        raise PluginError(
            f"the method '{method}' needs a tuple of MethodParameter as its parameters, not {value_text(parameters)}"
        )
    for parameter in parameters:
        if fault := parameter.fault():
            raise PluginError(f"the parameters of the method '{method}': {fault}")
    names = [parameter.name for parameter in parameters]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise PluginError(f"the method '{method}' declares the parameter '{twice}' twice")


def no_parameter(name: str, parameters: Sequence[MethodParameter], method: str) -> RequestError:
    """Return the error for a name that is no parameter of a method, with the closest names."""
    known = [f"{method}.{parameter.name}" for parameter in parameters]
    if not known:
        return RequestError(f"There is no parameter '{name}': the method '{method}' has no parameters of its own.")
    close = closest_names(name.removeprefix(f"{method}."), (parameter.name for parameter in parameters))
    advice = (
        f"Did you mean {' or '.join(f'{method}.{own}' for own in close)}?"
        if close
        else f"The method '{method}' has {', '.join(known)}."
    )
    return RequestError(f"There is no parameter '{name}'. {advice}")
