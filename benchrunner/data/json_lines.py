"""Read files of JSON lines: one object on each line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchrunner.data.sources import TableFile
from benchrunner.errors import DataError, described
from benchrunner.io.files import read_text
from benchrunner.io.json_files import parse_json_text
from benchrunner.io.messages import quoted, some_names

JsonObject = Mapping[str, Any]
"""An object of a JSON file: key -> value."""


@dataclass(frozen=True)
class JsonTable(TableFile):
    """A file of JSON lines below the user's data folder: each line is an object, and each object is a row.

    With `rows`, each object may hold any number of rows.
    """

    optional: tuple[str, ...] = ()
    """The task's columns whose keys an object may lack; the value is then missing (None)."""
    rows: Callable[[JsonObject], Iterable[JsonObject]] | None = None
    """Makes the rows of an object, if an object holds several rows; `columns` then names keys of these rows."""

    def column_names(self, path: Path) -> Sequence[str]:
        _, first = next(json_lines(path, self.encoding))
        return list(first)

    def fill(self, path: Path, columns: Mapping[str, list[Any]], notes: list[str]) -> list[int]:
        lines = list[int]()
        for line, value in json_lines(path, self.encoding):
            for row in self._rows_of(path, line, value):
                for name, key in self.columns.items():
                    columns[name].append(self._value(path, line, row, name, key))
                lines.append(line)
        return lines

    def _rows_of(self, path: Path, line: int, value: JsonObject) -> list[JsonObject]:
        """Return the rows that an object holds."""
        try:
            return [value] if self.rows is None else list(self.rows(value))
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            reason = f"there is no {error}" if isinstance(error, LookupError) else described(error)
            raise DataError(f"{path}:{line}: the rows of this object cannot be read: {reason}.") from error

    def _value(self, path: Path, line: int, row: JsonObject, name: str, key: str) -> Any:
        """Return the value of the column `name`, which the row has at `key`; "a.b" is the key b of the object at a.

        A key that the row lacks is a `DataError`; for an optional column the value is None.
        """
        value: Any = row
        for part in (key,) if key in row else key.split("."):
            if not isinstance(value, Mapping) or part not in value:
                if name in self.optional:
                    return None
                raise DataError(
                    f"{path}:{line}: no key {quoted(key)}; the keys of this object: {some_names(map(str, row))}."
                )
            value = value[part]
        return value


def json_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the object of each line with its line number, or raise a `DataError` with file and line.

    Lines end at line feeds alone: JSON texts may hold the other characters that Unicode counts as line ends.
    """
    text = read_text(path, "is it a file of JSON lines?", encoding=encoding)
    if not text.strip():
        raise DataError(f"{path}:1: the file is empty; a JSON object on each line was expected.")
    for number, line in enumerate(text.rstrip().split("\n"), start=1):
        if not line.strip():
            raise DataError(f"{path}:{number}: an empty line; expected a JSON object on each line.")
        value = parse_json_text(line, path, line=number)
        if not isinstance(value, dict):
            whole = " The file may be one JSON value over several lines." if number == 1 else ""
            raise DataError(f"{path}:{number}: expected a JSON object on each line, found {quoted(line)}.{whole}")
        yield number, value
