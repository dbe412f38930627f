"""Read files of JSON lines: one object on each line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner.data.rows import Rows, arrow_array
from benchrunner.data.sources import FileSource, respelled
from benchrunner.errors import DataError, described
from benchrunner.io.files import check_encoding, read_text
from benchrunner.io.json_files import parse_json_text
from benchrunner.io.messages import quoted, some_names
from benchrunner.workspace import Workspace

if TYPE_CHECKING:
    import pyarrow as pa

JsonObject = Mapping[str, Any]
"""An object of a JSON file: key -> value."""


@dataclass(frozen=True)
class JsonTable(FileSource):
    """A file of JSON lines below the user's data folder: each line is an object, and each object is a row.

    With `rows`, each object may hold any number of rows.
    """

    columns: Mapping[str, str]
    """Name of the task's column -> key of the objects. "passage.text" is the key "text" of the object at "passage"."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Label in the file -> label of the task. Texts are given as they are, other values as JSON writes them, such as
    "true" or "1". Labels that are not listed stay as they are; the problem checks them."""
    label_column: str = "label"
    """The task's column that `labels` applies to."""
    optional: tuple[str, ...] = ()
    """The task's columns whose keys an object may lack; the value is then missing (None)."""
    rows: Callable[[JsonObject], Iterable[JsonObject]] | None = None
    """Makes the rows of an object, if an object holds several rows; `columns` then names keys of these rows."""
    encoding: str = "utf-8"
    """Encoding of the file."""

    def __post_init__(self) -> None:
        check_encoding(self.encoding)

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa

        path = self.file(workspace)
        columns: dict[str, list[Any]] = {name: [] for name in self.columns}
        lines = list[int]()
        for line, row in self._rows(path):
            for name, key in self.columns.items():
                columns[name].append(self._value(path, line, row, name, key))
            lines.append(line)
        if self.labels and self.label_column in columns:
            columns[self.label_column] = [respelled(label, self.labels) for label in columns[self.label_column]]
        table = pa.table({name: _column(path, self.columns[name], values, lines) for name, values in columns.items()})
        return Rows(table, str(path), lines)

    def first(self, workspace: Workspace) -> JsonObject:
        """Return the first object of the file."""
        _, value = next(json_lines(self.file(workspace), self.encoding))
        return value

    def _rows(self, path: Path) -> Iterator[tuple[int, JsonObject]]:
        """Yield each row with its line."""
        for line, value in json_lines(path, self.encoding):
            if self.rows is None:
                yield line, value
                continue
            try:
                yield from [(line, row) for row in self.rows(value)]
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


_KINDS = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}
"""Types of values -> how messages call them."""


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


def _column(path: Path, key: str, values: list[Any], lines: list[int]) -> pa.Array:
    """Make a column of the values at a key; they must be of one kind, or missing."""
    import pyarrow as pa

    kinds = {kind for value in values if (kind := _kind(value)) is not None}
    if len(kinds) > 1:
        first = _kind(values[0])
        row = next(row for row, value in enumerate(values) if _kind(value) not in (first, None))
        raise DataError(
            f"{path}:{lines[row]}: {quoted(key)} is {_kind(values[row])} here, and {first or 'missing'} in the first "
            "row; all values must be of one kind."
        )
    try:
        return arrow_array(values)
    except UnicodeEncodeError:
        row = next(row for row, value in enumerate(values) if _has_lone_surrogate(value))
        raise DataError(
            f"{path}:{lines[row]}: {quoted(key)} has half of a surrogate pair, which is not text."
        ) from None
    except (pa.ArrowException, OverflowError) as error:
        raise DataError(f"{path}: {quoted(key)} has values that do not fit together: {error}.") from None


def _kind(value: Any) -> str | None:
    """Name the JSON kind of a value; None for a missing value."""
    return _KINDS.get(type(value))


def _has_lone_surrogate(value: Any) -> bool:
    """Whether a text, or a text inside of a list or an object, cannot be encoded."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
