"""JSON files read strictly: every mistake is an error that names the file and the path inside it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar, final

from benchrunner import DataError, Rows, Source, Workspace, find_file, read_json, searched_paths

T = TypeVar("T")

_MISSING = object()
_KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}


def kind(value: object) -> str:
    """What a value is, for messages; numbers are quoted, NaN among them."""
    return _KINDS.get(type(value), f"the number {value}")


@final
class Spot:
    """A value inside a JSON file, and the path that leads to it."""

    __slots__ = ("file", "path", "value")

    def __init__(self, file: Path, value: Any, path: str = "") -> None:
        self.file, self.value, self.path = file, value, path

    def wrong(self, sentence: str) -> DataError:
        """The error to raise of this value."""
        return DataError(f"{self.file}: {self.path or 'at the top'}: {sentence}.")

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def text(self, key: str) -> str:
        return self._get(key, str, "a text")

    def whole(self, key: str) -> int:
        found = self._get(key, int, "a whole number")
        if found.bit_length() > 63:
            raise self.wrong(f"'{key}' is a number of {found.bit_length()} bits; no text is that long")
        return found

    def claim(self, key: str) -> bool:
        return self._get(key, bool, "true or false")

    def inner(self, key: str) -> Spot:
        return Spot(self.file, self._get(key, dict, "an object"), f"{self.path}.{key}".lstrip("."))

    def texts(self, key: str) -> list[str]:
        found = self._get(key, list, "a list of texts")
        if any(type(one) is not str for one in found):
            raise self.wrong(f"'{key}' must hold texts only")
        return found

    def each(self, key: str) -> Iterator[Spot]:
        """The members of a list."""
        start = f"{self.path}.{key}".lstrip(".")
        for at, one in enumerate(self._get(key, list, "a list")):
            yield Spot(self.file, one, f"{start}[{at}]")

    def _get(self, key: str, wanted: type[T], expected: str) -> T:
        if type(self.value) is not dict:
            raise self.wrong(f"expected an object, found {kind(self.value)}")
        found = self.value.get(key, _MISSING)
        if found is _MISSING:
            raise self.wrong(f"'{key}' is missing; expected {expected}")
        if type(found) is not wanted:  # exactly: to Python true is a whole number
            raise self.wrong(f"'{key}' must be {expected}, found {kind(found)}")
        return found


@dataclass(frozen=True)
class JsonFile(Source):
    """Questions in a JSON file below the user's data folder."""

    path: tuple[str, ...]
    """Relative to the data folder; the first that exists is read."""
    labelled: bool = True
    """False reads no answers, whether there are any or not."""

    @abstractmethod
    def rows(self, top: Spot) -> Rows:
        """The rows of a file, or a `DataError`."""

    def where(self, workspace: Workspace) -> str:
        return searched_paths(workspace, self.path)

    def at(self, path: Path) -> Self:
        return replace(self, path=(str(path.absolute()),))

    def unlabelled(self, label_columns: Collection[str]) -> Self:
        return replace(self, labelled=False)

    def read(self, workspace: Workspace) -> Rows:
        found = find_file(workspace, self.path)
        return self.rows(Spot(found, read_json(found)))
