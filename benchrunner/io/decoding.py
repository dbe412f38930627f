"""Dataclasses from TOML and JSON, and JSON from dataclasses: fields and their types say which keys a file has.

`decoded` reads what people write, `from_json` what `as_json` gave. Both refuse keys that no field has, and values of
another type: true is no number, 3.0 is no whole number, and no number is infinite. A class with another form in files
reads it in its class method `from_json`; json_form.py writes it. Plugins find both directions here.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, final

from benchrunner.errors import BenchrunnerError, DataError
from benchrunner.io.json_form import (
    Mistake as Mistake,
    as_json as as_json,
    default_of,
    finite,
    key_of as key_of,
    keys_of,
)
from benchrunner.io.messages import did_you_mean, quoted, some_names

T = TypeVar("T")
Reader = Callable[[Any], Any]
"""Makes a value from a value of TOML or JSON; raises a `Mistake`."""
Special = Mapping[Any, "Callable[[Table], Any]"]
"""Type of a field -> function that makes the field's value from the keys of the table that holds the other fields."""


def decoded(
    kind: type[T],
    data: Any,
    file: Path | str,
    error: type[BenchrunnerError],
    special: Special = types.MappingProxyType({}),
    **known: Any,
) -> T:
    """Make a dataclass from the content of a file that people write; every mistake is an `error` with file and key.

    A field with a default may be missing, and the text of another field must not be empty. `known` are fields that no
    key gives.
    """
    try:
        return _Decoder(special, refuses_empty=True).read(kind, data, **known)
    except Mistake as mistake:
        raise error(f"{file}: {mistake}") from None


def from_json(
    kind: type[T], data: Any, file: Path | str, error: type[BenchrunnerError] = DataError, advice: str = ""
) -> T:
    """Make a value of a type from what `as_json` gave; every mistake is an `error` with file, key and the advice."""
    try:
        value: T = _decoder_of_json().reader(kind)(data)
        return value
    except Mistake as mistake:
        raise error(f"{file}: {mistake} {advice}".rstrip()) from None


@final
class Table:
    """The keys of one table of TOML, or of one object of JSON, from which values are made."""

    def __init__(self, data: Any, decoder: _Decoder) -> None:
        self._data, self._decoder = _mapping(data), decoder
        self._known = set[str]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def value(self, key: str, kind: Any) -> Any:
        """Read the value of a key as a type."""
        return self._read(key, kind, self._decoder.reader(kind))

    def _read(self, key: str, kind: Any, read: Reader) -> Any:
        self._known.add(key)
        if key not in self._data:
            raise Mistake(f"is missing; expected {_words(kind)}.", key)
        try:
            return read(self._data[key])
        except Mistake as mistake:
            raise mistake.under(key) from None

    def _key(self, keys: Sequence[str]) -> str:
        """Return the key that is there; the first if there is none."""
        if len(keys) == 1:
            return keys[0]
        self._known.update(keys)
        given = [key for key in keys if key in self._data]
        if len(given) > 1:
            raise Mistake(f"says the same as {given[0]}: remove one of them.", given[1])
        return given[0] if given else keys[0]

    def made(self, kind: type[T], **known: Any) -> T:
        """Make a dataclass from some of the keys. `known` are fields that no key gives."""
        values = dict(known)
        for part in self._decoder.parts(kind):
            if part.name in known:
                continue
            if part.takes_table:
                values[part.name] = part.read(self)
                continue
            key = self._key(part.keys)
            if part.is_required or key in self._data:
                values[part.name] = self._read(key, part.kind, part.read)
                if part.is_required and values[part.name] == "" and self._decoder.refuses_empty:
                    raise Mistake("must not be empty.", key)
            else:
                self._known.add(key)
        try:
            return kind(**values)
        except (BenchrunnerError, ValueError) as reason:
            raise Mistake(str(reason)) from None

    def finish(self) -> None:
        """Raise a `Mistake` for a key that nothing has read, most often a misspelling."""
        for key in self._data:
            if key not in self._known:
                known = sorted(self._known)
                meant = did_you_mean(key, known)
                raise Mistake(f"is not a key of this table.{meant} Known here: {', '.join(known)}.").under(key)


@final
@dataclass(frozen=True)
class _Part:
    """A field of a dataclass, as it is read."""

    name: str
    keys: Sequence[str]
    kind: Any
    read: Reader
    is_required: bool
    takes_table: bool
    """Whether `read` gets the `Table`, and not the value of a key."""


@final
class _Decoder:
    """Makes a reader for each type, once."""

    def __init__(self, special: Special, *, refuses_empty: bool = False) -> None:
        self.refuses_empty = refuses_empty
        self._special = special
        self._parts: dict[type, list[_Part]] = {}
        self._readers: dict[Any, Reader] = {
            str: _exactly(str),
            bool: _exactly(bool),
            int: _exactly(int),
            float: _number,
            Path: lambda value: Path(_exactly(str)(value)),
            Any: as_json,
        }

    def reader(self, kind: Any) -> Reader:
        """Return the reader of a type."""
        if kind not in self._readers:
            self._readers[kind] = self._made(kind)
        return self._readers[kind]

    def parts(self, kind: type) -> list[_Part]:
        """List the fields of a dataclass."""
        if kind not in self._parts:
            self._parts[kind] = []
            kinds = typing.get_type_hints(kind)
            for part in dataclasses.fields(kind):
                of_part = kinds[part.name]
                read = self._special.get(of_part) or self.reader(of_part)
                is_required = default_of(part) is dataclasses.MISSING
                entry = _Part(part.name, keys_of(part), of_part, read, is_required, of_part in self._special)
                self._parts[kind].append(entry)
        return self._parts[kind]

    def read(self, kind: type[T], data: Any, **known: Any) -> T:
        """Make a dataclass from all keys of a table."""
        table = Table(data, self)
        value = table.made(kind, **known)
        table.finish()
        return value

    def _made(self, kind: Any) -> Reader:
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if origin is Literal:
            return functools.partial(_choice, kind)
        if origin in (types.UnionType, typing.Union):
            readers = [self.reader(part) for part in inner if part is not types.NoneType]
            return functools.partial(_one_of, kind, readers, len(readers) < len(inner))
        if origin is Mapping:
            read_key = _whole_key if inner[0] is int else self.reader(inner[0])
            return functools.partial(_values, read_key, self.reader(inner[1]))
        if origin in (tuple, Sequence):
            kinds = [part for part in inner if part is not ...]
            readers = [self.reader(part) for part in kinds]
            return functools.partial(_entries, kinds, readers, origin is tuple and ... not in inner)
        if hasattr(kind, "from_json"):
            return functools.partial(_own_form, kind.from_json)
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            return functools.partial(self.read, kind)
        raise TypeError(f"{kind} cannot be read from TOML or JSON")


@functools.cache
def _decoder_of_json() -> _Decoder:
    return _Decoder({})


def _values(read_key: Reader, read: Reader, value: Any) -> dict[Any, Any]:
    values = {}
    for key, inner in _mapping(value).items():
        try:
            values[read_key(key)] = read(inner)
        except Mistake as mistake:
            raise mistake.under(key) from None
    return values


def _entries(kinds: Sequence[Any], readers: Sequence[Reader], is_fixed: bool, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise _unlike(Sequence[kinds[0]], value)  # type: ignore[valid-type]
    if is_fixed and len(value) != len(readers):
        raise Mistake(f"expected {len(readers)} entries, found {len(value)}: {quoted(value)}.")
    entries = []
    for place, entry in enumerate(value):
        place_of_kind = place if is_fixed else 0
        try:
            entries.append(readers[place_of_kind](entry))
        except Mistake as mistake:
            raise mistake.in_entry(place + 1, _label(kinds[place_of_kind], entry)) from None
    return tuple(entries)


def _label(kind: Any, entry: Any) -> str:
    """Return the value of the first field of a dataclass, by which messages name it; empty for other values."""
    if not dataclasses.is_dataclass(kind) or not isinstance(entry, Mapping):
        return ""
    name = keys_of(dataclasses.fields(kind)[0])[0]
    return some_names([str(entry.get(name, "?"))])


def _one_of(kind: Any, readers: Sequence[Reader], may_be_none: bool, value: Any) -> Any:
    if value is None and may_be_none:
        return None
    if len(readers) == 1:
        return readers[0](value)
    for read in readers:
        try:
            return read(value)
        except Mistake as mistake:
            if mistake.where:  # the type is right, and a value inside is not
                raise
    raise _unlike(kind, value)


def _own_form(read: Reader, value: Any) -> Any:
    try:
        return read(_mapping(value))
    except Mistake:
        raise
    except (BenchrunnerError, ValueError) as reason:
        raise Mistake(str(reason)) from None


def _exactly(kind: type) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not kind:  # True is an int in Python
            raise _unlike(kind, value)
        return value

    return read


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise _unlike(float, value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if finite(number) != value:
        raise Mistake(f"{value} has more digits than a number keeps.")
    return number


def _choice(kind: Any, value: Any) -> Any:
    for choice in typing.get_args(kind):
        if type(choice) is type(value) and choice == value:
            return choice
    raise _unlike(kind, value)


def _whole_key(key: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", key):
        raise Mistake("expected a whole number as key.")
    return int(key)


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _unlike(Mapping, value)
    return value


_WORDS: Mapping[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a path",
    types.NoneType: "null",
    list: "a list",
    dict: "a table",
}


def _words(kind: Any) -> str:
    """Say which values a type has."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if origin in (types.UnionType, typing.Union):
        return " or ".join(_words(part) for part in inner if part is not types.NoneType)
    if origin in (tuple, Sequence):
        words = {str: "texts", int: "whole numbers", float: "numbers"}
        return f"a list of {words.get(inner[0], 'tables')}"
    return _WORDS.get(kind, "a table")


def _unlike(kind: Any, value: Any) -> Mistake:
    found = _WORDS.get(type(value), type(value).__name__)
    return Mistake(f"expected {_words(kind)}, found {found}: {quoted(value)}.")
