"""Reads JSON files strictly: every mistake is an error that names the file and the path inside it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar, final

from benchrunner import DataError, Rows, Source, Workspace, json_files, sources

T = TypeVar("T")

_MISSING = object()
_KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}


def kind_of(value: object) -> str:
    """Name the kind of a value for messages; a number, also NaN, is shown."""
    return _KINDS.get(type(value), f"the number {value}")


@final
class JsonValue:
    """A value inside a JSON file, with the path that leads to it."""

    __slots__ = ("file", "path", "value")

    def __init__(self, file: Path, value: Any, path: str = "") -> None:
        self.file = file
        self.value = value
        self.path = path

    def error(self, sentence: str) -> DataError:
        """Make the error for a mistake in this value."""
        return DataError(f"{self.file}: {self.path or 'at the top'}: {sentence}.")

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def text(self, key: str) -> str:
        return self._get(key, str, "a text")

    def whole(self, key: str) -> int:
        number = self._get(key, int, "a whole number")
        if number.bit_length() > 63:
            raise self.error(f"'{key}' is a number of {number.bit_length()} bits; no text is that long")
        return number

    def truth(self, key: str) -> bool:
        return self._get(key, bool, "true or false")

    def inner(self, key: str) -> JsonValue:
        return JsonValue(self.file, self._get(key, dict, "an object"), f"{self.path}.{key}".lstrip("."))

    def texts(self, key: str) -> list[str]:
        texts = self._get(key, list, "a list of texts")
        if any(type(text) is not str for text in texts):
            raise self.error(f"'{key}' must hold texts only")
        return texts

    def each(self, key: str) -> Iterator[JsonValue]:
        """Yield the members of a list."""
        start = f"{self.path}.{key}".lstrip(".")
        for at, member in enumerate(self._get(key, list, "a list")):
            yield JsonValue(self.file, member, f"{start}[{at}]")

    def _get(self, key: str, wanted: type[T], expected: str) -> T:
        if type(self.value) is not dict:
            raise self.error(f"expected an object, found {kind_of(self.value)}")
        value = self.value.get(key, _MISSING)
        if value is _MISSING:
            raise self.error(f"'{key}' is missing; expected {expected}")
        if type(value) is not wanted:  # the exact type, because True is an int in Python
            raise self.error(f"'{key}' must be {expected}, found {kind_of(value)}")
        return value


@dataclass(frozen=True)
class JsonFile(Source):
    """Questions in a JSON file below the user's data folder."""

    path: tuple[str, ...]
    """Paths relative to the data folder; the first file that exists is read."""
    labelled: bool = True
    """False ignores the answers, for a user's own file."""
    is_in_data_folder: bool = True
    """False if the path is relative to the working directory: a file that the user names."""

    @abstractmethod
    def rows(self, top: JsonValue) -> Rows:
        """Make the rows of a file; raises `DataError` for a mistake in the file."""

    def where(self, workspace: Workspace) -> str:
        return sources.searched_paths(workspace, self.path)

    def at(self, path: Path) -> Self:
        return replace(self, path=(str(path),), is_in_data_folder=False)

    def unlabelled(self, label_columns: Collection[str]) -> Self:
        return replace(self, labelled=False)

    def read(self, workspace: Workspace) -> Rows:
        path = sources.find_file(workspace if self.is_in_data_folder else replace(workspace, data=Path()), self.path)
        return self.rows(JsonValue(path, json_files.read_json(path)))
