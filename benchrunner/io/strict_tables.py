"""Strict reading of tables from TOML and JSON files: every mistake is an error that names file and key."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, final

from benchrunner.errors import BenchrunnerError, DataError
from benchrunner.io.file_faults import shown, some_names
from benchrunner.io.json_files import read_json
from benchrunner.io.toml_files import read_toml

T = TypeVar("T")

_REQUIRED: Any = object()


@final
class StrictTable:
    """One table of a file. Read every known key, then call `finish`, which raises an error for unknown keys."""

    def __init__(self, path: Path, data: dict[str, Any], error: type[BenchrunnerError], where: str = "") -> None:
        self.path, self.error, self.where = path, error, where
        self._data, self._read = data, set[str]()
        self._looked_for = set[str]()  # keys that may be there; only a suggestion names them

    @classmethod
    def toml(cls, path: Path, error: type[BenchrunnerError]) -> StrictTable:
        """Read the top table of a TOML file."""
        return cls(path, read_toml(path, error), error)

    @classmethod
    def json(cls, path: Path, error: type[BenchrunnerError]) -> StrictTable:
        """Read the top table of a JSON file."""
        try:
            data = read_json(path)
        except DataError as reason:
            raise error(str(reason)) from None
        if not isinstance(data, dict):
            raise error(f"{path}: expected a JSON object, found {_kind(data)}.")
        return cls(path, data, error)

    def __contains__(self, key: str) -> bool:
        self._looked_for.add(key)
        return key in self._data

    def has_value(self, key: str) -> bool:
        """Return whether a key is there and is not null, which JSON writes for a value that is absent."""
        self._read.add(key)
        return self._data.get(key) is not None

    def __bool__(self) -> bool:
        return bool(self._data)

    def place(self, key: str) -> str:
        """Name the file and the key, for messages."""
        return f"{self.path}: {self.where}{some_names([key])}"

    def wrong(self, key: str, sentence: str) -> BenchrunnerError:
        """Make the error for a value that has the right type and is still wrong."""
        return self.error(f"{self.place(key)}: {sentence}")

    @contextmanager
    def naming(self, key: str) -> Iterator[None]:
        """Add file and key to errors that are raised inside the context."""
        try:
            yield
        except self.error as reason:
            raise self.wrong(key, str(reason)) from None

    def text(self, key: str, default: str = _REQUIRED) -> str:
        """Read a text; without a default it must be there and not be empty."""
        value = self._value(key, str, "text", default)
        if not value and default is _REQUIRED:
            raise self.wrong(key, "must not be empty.")
        return value

    def whole(self, key: str) -> int:
        """Read a whole number from zero up."""
        value = self._value(key, int, "a whole number from zero up")
        if value < 0:
            raise self.wrong(key, f"expected a whole number from zero up, found {value}.")
        return value

    def number(self, key: str) -> float:
        """Read a finite number."""
        value = float(self._value(key, (int, float), "a number"))
        if value - value != 0:  # inf and nan are TOML numbers too
            raise self.wrong(key, f"expected a finite number, found {value}.")
        return value

    def flag(self, key: str) -> bool:
        """Read true or false; a missing key is false."""
        return bool(self._value(key, bool, "true or false", False))

    def texts(self, key: str) -> tuple[str, ...]:
        """Read a list of texts."""
        values = self._value(key, list, "a list of texts")
        if not all(isinstance(value, str) for value in values):
            raise self.wrong(key, f"expected a list of texts, found {shown(values)}.")
        return tuple(values)

    def text_or_texts(self, key: str) -> tuple[str, ...]:
        """Read a text or a list of texts; a missing key is an empty list."""
        if not isinstance(self._data.get(key, []), list):
            return (self.text(key),)
        return self.texts(key) if key in self else ()

    def table(self, key: str, *, optional: bool = False) -> StrictTable:
        """Read an inner table; a missing optional table is empty."""
        return self._inner(self._value(key, dict, "a table", {} if optional else _REQUIRED), f"{key}.")

    def tables(self, key: str, label: str, *, optional: bool = False) -> list[StrictTable]:
        """Read a list of tables. `label` is the key that names a table in messages."""
        tables = self._value(key, list, f"[[{key}]] tables", [] if optional else _REQUIRED)
        if not all(isinstance(table, dict) for table in tables):
            raise self.wrong(key, f"expected [[{key}]] tables.")
        return [
            self._inner(table, f"[[{key}]] {number} ({some_names([str(table.get(label, '?'))])}): ")
            for number, table in enumerate(tables, start=1)
        ]

    def named_texts(self, key: str, *, optional: bool = False, dotted: bool = False) -> dict[str, str]:
        """Read a table whose values are texts. With `dotted`, `b = "x"` in an inner table `a` is the text `a.b`."""
        inner = self.table(key, optional=optional)
        texts = dict[str, str]()
        for name, value in inner._data.items():
            if dotted and isinstance(value, dict):
                texts |= {f"{name}.{own}": text for own, text in inner.named_texts(name).items()}
            else:
                texts[name] = inner.text(name)
        return texts

    def named_numbers(self, key: str) -> dict[str, float]:
        """Read a table whose values are numbers."""
        inner = self.table(key)
        return {name: inner.number(name) for name in inner._data}

    def named_tables(self, key: str) -> dict[str, StrictTable]:
        """Read a key whose values are tables, such as [scale.small] and [scale.large]; {} if the key is missing."""
        inner = self.table(key, optional=True)
        return {name: inner.table(name) for name in inner._data}

    def expect(self, key: str) -> None:
        """Name a key that may be read after `finish`."""
        self._read.add(key)

    def finish(self) -> None:
        """Raise an error for a key that nothing has read, most often a misspelling."""
        known = sorted(self._read | self._looked_for)
        for key in self._data:
            if key not in self._read:
                close = difflib.get_close_matches(key, known, n=1)
                meant = f"Did you mean {close[0]}? " if close else ""
                raise self.wrong(key, f"is not a key of this table. {meant}Known here: {', '.join(known)}.")

    def _inner(self, data: dict[str, Any], where: str) -> StrictTable:
        return StrictTable(self.path, data, self.error, self.where + where)

    def _value(self, key: str, kind: type[T] | tuple[type[T], ...], expected: str, default: Any = _REQUIRED) -> T:
        self._read.add(key)
        if key not in self._data:
            if default is _REQUIRED:
                raise self.wrong(key, f"is missing; expected {expected}.")
            return default  # type: ignore[no-any-return]
        value = self._data[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):  # True is an int in Python
            raise self.wrong(key, f"expected {expected}, found {_kind(value)}: {shown(value)}.")
        return value


_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a table",
}


def _kind(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__)
