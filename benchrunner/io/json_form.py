"""JSON from dataclasses: their fields are the keys, and metadata of a field says where its key differs.

A class with another form in files gives it in its method `as_json`, whose inner values need not be JSON values yet.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, final

from benchrunner.io.messages import quoted, some_names


@final
class Mistake(ValueError):
    """Why a value cannot be read or written, and under which keys it stands."""

    def __init__(self, sentence: str, where: str = "") -> None:
        super().__init__(f"{where}: {sentence}" if where else sentence)
        self.sentence, self.where = sentence, where

    def under(self, key: str) -> Mistake:
        """Add the key of the value that holds the mistake."""
        name = some_names([key])
        if self.where.startswith(" "):  # an entry of a list of tables
            return Mistake(self.sentence, f"[[{name}]]{self.where}")
        return Mistake(self.sentence, f"{name}.{self.where}" if self.where else name)

    def in_entry(self, number: int, label: str) -> Mistake:
        """Add the number of the entry of a list; an entry that is a table has a label."""
        if not label:
            return Mistake(f"entry {number}: {self.sentence}")
        return Mistake(self.sentence, f" {number} ({label})" + (f": {self.where}" if self.where else ""))


_KEYS, _WHEN_GIVEN = "keys", "when_given"


def key_of(*names: str) -> Mapping[str, Any]:
    """Return the metadata of a field whose key in files is not its name; several names are alternatives."""
    return {_KEYS: names}


WHEN_GIVEN: Mapping[str, Any] = types.MappingProxyType({_WHEN_GIVEN: True})
"""Metadata of a field that `as_json` always leaves out at its default value."""


def default_of(part: dataclasses.Field[Any]) -> Any:
    """Return the default of a field; `dataclasses.MISSING` if the field has none."""
    if part.default_factory is not dataclasses.MISSING:
        return part.default_factory()
    return part.default


def keys_of(part: dataclasses.Field[Any]) -> Sequence[str]:
    """Return the keys of a field in files: alternatives of which one may be there."""
    keys: Sequence[str] = part.metadata.get(_KEYS, (part.name,))
    return keys


def finite(number: float) -> float:
    """Return a number; raise a `Mistake` if it is infinite or NaN."""
    if not math.isfinite(number):
        raise Mistake(f"expected a finite number, found {number}.")
    return number


def as_json(value: Any, *, defaults: bool = True) -> Any:
    """Return a value as JSON values, which `from_json` reads.

    Dataclasses become objects, tuples lists, and paths texts. Without `defaults`, fields with their default value are
    left out. Raises a `Mistake` for a number that is not finite, and for other values that JSON cannot hold.
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return finite(float(value))
    if isinstance(value, Mapping):
        return _object(value.items(), defaults)
    if isinstance(value, list | tuple):
        return [as_json(inner, defaults=defaults) for inner in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "as_json"):
        return as_json(value.as_json(), defaults=defaults)
    if not dataclasses.is_dataclass(value):
        raise Mistake(f"JSON has no {type(value).__name__}, found {quoted(value)}.")
    return fields_json(value, defaults=defaults)


def fields_json(value: Any, *, defaults: bool = True) -> dict[str, Any]:
    """Return the fields of a dataclass as JSON values, as `as_json` does for a class without a form of its own."""
    values = {}
    for part in dataclasses.fields(value):
        inner = getattr(value, part.name)
        may_be_left_out = not defaults or part.metadata.get(_WHEN_GIVEN)
        if not may_be_left_out or inner != default_of(part):
            values[keys_of(part)[0]] = inner
    return _object(values.items(), defaults)


def _object(values: Iterable[tuple[Any, Any]], defaults: bool) -> dict[str, Any]:
    written = {}
    for key, value in values:
        try:
            written[str(key)] = as_json(value, defaults=defaults)
        except Mistake as mistake:
            raise mistake.under(str(key)) from None
    return written
