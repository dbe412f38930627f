"""Tables from TOML and JSON files, read strictly: every mistake is an error that names file and key."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, final

from benchrunner.errors import BenchrunnerError

T = TypeVar("T")

_REQUIRED: Any = object()


@final
class StrictTable:
    """One table of a file. Read every key that is known, then call `finish`, which complains of the others."""

    def __init__(self, path: Path, data: dict[str, Any], error: type[BenchrunnerError], where: str = "") -> None:
        self.path, self.error, self.where = path, error, where
        self._data, self._read = data, set[str]()

    @classmethod
    def toml(cls, path: Path, error: type[BenchrunnerError]) -> StrictTable:
        """The top table of a TOML file."""
        try:
            return cls(path, tomllib.loads(path.read_text("utf-8")), error)
        except OSError as reason:
            raise error(f"{path}: cannot be read: {reason.strerror}.") from None
        except ValueError as reason:  # not UTF-8, or not TOML: the latter names line and column
            raise error(f"{path}: not valid TOML: {reason}.") from None

    @classmethod
    def json(cls, path: Path, error: type[BenchrunnerError]) -> StrictTable:
        """The top table of a JSON file."""
        try:
            data = json.loads(path.read_text("utf-8"))
        except OSError as reason:
            raise error(f"{path}: cannot be read: {reason.strerror}.") from None
        except ValueError as reason:
            raise error(f"{path}: not valid JSON: {reason}.") from None
        if not isinstance(data, dict):
            raise error(f"{path}: expected a JSON object, found {_kind(data)}.")
        return cls(path, data, error)

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def __bool__(self) -> bool:
        return bool(self._data)

    def place(self, key: str) -> str:
        """The file and the key, for people."""
        return f"{self.path}: {self.where}{key}"

    def wrong(self, key: str, sentence: str) -> BenchrunnerError:
        """The error to raise when a key's value is of the right type and still wrong."""
        return self.error(f"{self.place(key)}: {sentence}")

    @contextmanager
    def naming(self, key: str) -> Iterator[None]:
        """Errors raised inside by what is built from a key's value are told with file and key."""
        try:
            yield
        except self.error as reason:
            raise self.wrong(key, str(reason)) from None

    def text(self, key: str, default: str = _REQUIRED) -> str:
        found = self._value(key, str, "text", default)
        if not found and default is _REQUIRED:
            raise self.wrong(key, "must not be empty.")
        return found

    def whole(self, key: str) -> int:
        found = self._value(key, int, "a whole number from zero up")
        if found < 0:
            raise self.wrong(key, f"expected a whole number from zero up, found {found}.")
        return found

    def number(self, key: str) -> float:
        found = float(self._value(key, (int, float), "a number"))
        if found - found != 0:  # inf and nan are TOML numbers too
            raise self.wrong(key, f"expected a finite number, found {found}.")
        return found

    def maybe_number(self, key: str) -> float | None:
        return self.number(key) if key in self else None

    def texts(self, key: str) -> tuple[str, ...]:
        found = self._value(key, list, "a list of texts")
        if not all(isinstance(one, str) for one in found):
            raise self.wrong(key, f"expected a list of texts, found {found!r}.")
        return tuple(found)

    def table(self, key: str, *, optional: bool = False) -> StrictTable:
        return self._inner(self._value(key, dict, "a table", {} if optional else _REQUIRED), f"{key}.")

    def tables(self, key: str, label: str, *, optional: bool = False) -> list[StrictTable]:
        """A list of tables; `label` is the key by which people tell them apart."""
        found = self._value(key, list, f"[[{key}]] tables", [] if optional else _REQUIRED)
        if not all(isinstance(one, dict) for one in found):
            raise self.wrong(key, f"expected [[{key}]] tables.")
        return [self._inner(one, f"[[{key}]] {at} ({one.get(label, '?')}): ") for at, one in enumerate(found, start=1)]

    def named_texts(self, key: str, *, optional: bool = False) -> dict[str, str]:
        inner = self.table(key, optional=optional)
        return {name: inner.text(name) for name in inner._data}

    def named_numbers(self, key: str) -> dict[str, float]:
        inner = self.table(key)
        return {name: inner.number(name) for name in inner._data}

    def named_tables(self, key: str) -> dict[str, StrictTable]:
        """A table of tables, which may be left out."""
        inner = self.table(key, optional=True)
        return {name: inner.table(name) for name in inner._data}

    def finish(self) -> None:
        """Every key has been read: what is left is a mistake, most often a misspelling."""
        for key in self._data:
            if key not in self._read:
                close = difflib.get_close_matches(key, self._read, n=1)
                hint = f"Did you mean {close[0]}?" if close else f"Known here: {', '.join(sorted(self._read))}."
                raise self.wrong(key, f"is not a key of this table. {hint}")

    def _inner(self, data: dict[str, Any], where: str) -> StrictTable:
        return StrictTable(self.path, data, self.error, self.where + where)

    def _value(self, key: str, kind: type[T] | tuple[type[T], ...], expected: str, default: Any = _REQUIRED) -> T:
        self._read.add(key)
        if key not in self._data:
            if default is _REQUIRED:
                raise self.wrong(key, f"is missing; expected {expected}.")
            return default  # type: ignore[no-any-return]
        found = self._data[key]
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):  # True is an int to Python
            raise self.wrong(key, f"expected {expected}, found {_kind(found)}: {found!r}.")
        return found


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
