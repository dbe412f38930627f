"""Dataclasses whose fields are parameters: built in Python, from texts, or from options of the command line."""

from __future__ import annotations

import argparse
import dataclasses
import functools
from collections.abc import Collection, Iterable, Mapping
from types import NoneType
from typing import Any, ClassVar, Self

from benchrunner.errors import RequestError, UnknownName
from benchrunner.parameters.parameter import Parameter


def parameter(default: Any, about: str, kind: type = NoneType, **declaration: Any) -> Any:
    """Declare a field of `Declared`: its default, and the other fields of `Parameter` by their names."""
    return dataclasses.field(default=default, metadata={"about": about, "kind": kind, **declaration})


def parameters_of(declared: type[Declared]) -> Mapping[str, Parameter]:
    """Return the parameters that a dataclass declares, by name."""
    return _read_declarations(declared)  # type: ignore[arg-type]  # mypy thinks that classes have no hash


@functools.cache
def _read_declarations(declared: Any) -> Mapping[str, Parameter]:
    parameters = {}
    for field in dataclasses.fields(declared):
        if "about" in field.metadata:
            parameters[field.name] = Parameter(field.name, default=field.default, **field.metadata)
    return parameters


class Declared:
    """Base class of frozen dataclasses whose fields are declared with `parameter`, and checked when it is built."""

    owner: ClassVar[str] = ""
    """What stands before the names of parameters in messages."""

    def __post_init__(self) -> None:
        for name, own in parameters_of(type(self)).items():
            value = own.checked(getattr(self, name), f"{self.owner}{name}")
            object.__setattr__(self, name, value)

    @classmethod
    def read(cls, texts: Mapping[str, str], what: str = "option") -> Self:
        """Build the dataclass from texts; parameters that are not named keep their defaults.

        The parameter `max_retries` is written `max-retries` or `max_retries`. `what` says in errors what a parameter
        is, for example "executor option".
        """
        known = {name.replace("_", "-"): own for name, own in parameters_of(cls).items()}
        values = {}
        for name, text in texts.items():
            own = known.get(name.replace("_", "-"))
            if own is None:
                raise UnknownName(what, name, known)
            values[own.name] = own.read(text, f"The {what} {name}")
        return cls(**values)

    @classmethod
    def add_options(cls, group: argparse._ActionsContainer, names: Collection[str] | None = None) -> None:
        """Add the options of all parameters, or of some, to a parser's group."""
        for name, own in parameters_of(cls).items():
            if names is None or name in names:
                own.add_to(group)

    @classmethod
    def given(cls, arguments: argparse.Namespace) -> dict[str, Any]:
        """Return the values of the options that were given, by the names of their parameters."""
        given = {}
        for name in parameters_of(cls):
            value = getattr(arguments, name)
            if value is not None:
                given[name] = value
        return given

    def changes(self) -> dict[str, Any]:
        """Return the values that are not the defaults."""
        changed = {}
        for name, own in parameters_of(type(self)).items():
            value = getattr(self, name)
            if value != own.default:
                changed[name] = value
        return changed


def name_value_pairs(words: Iterable[str], option: str) -> dict[str, str]:
    """Split words NAME=VALUE; `option` is the command-line option that takes them and is named in errors."""
    pairs: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise RequestError(f"{option} takes NAME=VALUE, not '{word}'; put a value with blanks in quotes.")
        if name in pairs:
            raise RequestError(f"{option} names {name} twice.")
        pairs[name] = value
    return pairs
