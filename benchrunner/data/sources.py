"""Sources of rows: the interface, and sources that call a function or reshape another source."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from benchrunner.data.rows import Rows
from benchrunner.errors import BadRows, DataError, described
from benchrunner.io.files import check_encoding
from benchrunner.workspace import Workspace

if TYPE_CHECKING:
    import pyarrow as pa


class DataNotFound(DataError):
    """A source does not have the data. The message says where the source looked; the task's next source is tried."""


def find_file(workspace: Workspace, names: Sequence[str]) -> Path:
    """Return the first file that exists, or raise `DataNotFound`.

    Names are relative to the workspace's data folder. Absolute paths need no data folder.
    """
    if workspace.data is None and not all(Path(name).is_absolute() for name in names):
        raise DataNotFound(f"no data folder with {names[0]}: give --data DIR or set BENCHRUNNER_DATA")
    paths = [(workspace.data or Path()) / name for name in names]
    file = next((path for path in paths if path.is_file()), None)
    if file is None:
        raise DataNotFound(f"no file {searched_paths(workspace, names)}")
    return file


def searched_paths(workspace: Workspace, names: Sequence[str]) -> str:
    """Describe for messages where `find_file` looks."""
    first = str((workspace.data or Path()) / names[0])
    more = len(names) - 1
    return f"{first} (or {more} other usual place{'s' if more > 1 else ''})" if more else first


def respelled(label: Any, labels: Mapping[str, str]) -> Any:
    """Return the task's spelling of a label, or of each label in a list; labels that are not listed stay as they are.

    `labels` has texts as they are and other values as JSON writes them, such as "true" or "1".
    """
    if isinstance(label, list):
        return [respelled(part, labels) for part in label]
    text = label if isinstance(label, str) else json.dumps(label)
    return labels.get(text, label)


class Source(ABC):
    """A place that may hold the rows of a split."""

    @abstractmethod
    def where(self, workspace: Workspace) -> str:
        """Describe for messages where this source looks."""

    @abstractmethod
    def read(self, workspace: Workspace) -> Rows:
        """Return the rows, or raise `DataNotFound` if this source does not have them."""

    def at(self, path: Path) -> Source | None:
        """Return a source that reads a user's file in this source's layout, or None if this source reads no files."""
        return None

    def unlabelled(self, label_columns: Collection[str]) -> Source:
        """Return a source that does not need labels, for a user's own questions.

        `label_columns` are the label columns of the task's problem. A source that reads rows with and without labels
        returns itself.
        """
        return self


@dataclass(frozen=True)
class FileSource(Source):
    """A file below the user's data folder. A subclass describes one layout, and its `read` parses the file."""

    path: str | tuple[str, ...]
    """Path or paths relative to the data folder. The first file that exists is read."""
    columns: Mapping[str, Any]
    """Name of the task's column -> where the file has the column."""
    is_in_data_folder: bool = field(default=True, kw_only=True)
    """False if the path is relative to the working directory: a file that the user names."""

    def where(self, workspace: Workspace) -> str:
        return searched_paths(self._home(workspace), self._names)

    def at(self, path: Path) -> Self:
        return replace(self, path=str(path), is_in_data_folder=False)

    def unlabelled(self, label_columns: Collection[str]) -> Self:
        kept = {name: place for name, place in self.columns.items() if name not in label_columns}
        return replace(self, columns=kept)

    def file(self, workspace: Workspace) -> Path:
        """Return the file, or raise `DataNotFound`."""
        return find_file(self._home(workspace), self._names)

    def _home(self, workspace: Workspace) -> Workspace:
        """Return the workspace whose data folder holds the file."""
        return workspace if self.is_in_data_folder else replace(workspace, data=Path())

    @property
    def _names(self) -> tuple[str, ...]:
        return (self.path,) if isinstance(self.path, str) else self.path


@dataclass(frozen=True)
class TableFile(FileSource):
    """A file below the user's data folder whose rows have values in named columns. A subclass reads one format."""

    columns: Mapping[str, str]
    """Name of the task's column -> name of the file's column. "passage.text" is the key "text" of the object at
    "passage", in formats with objects."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Label in the file -> label of the task. Texts are given as they are, other values as JSON writes them, such as
    "true" or "1". Labels that are not listed stay as they are; the problem checks them."""
    label_column: str = "label"
    """The task's column that `labels` applies to."""
    encoding: str = "utf-8"
    """Encoding of the file, for example "latin-1"."""

    def __post_init__(self) -> None:
        check_encoding(self.encoding)

    @abstractmethod
    def column_names(self, path: Path) -> Sequence[str]:
        """Return the names of the file's columns; of JSON lines, the keys of the first object."""

    @abstractmethod
    def fill(self, path: Path, columns: Mapping[str, list[Any]], notes: list[str]) -> list[int]:
        """Append the values of each row to the task's columns, and remarks for the user to the notes.

        Returns the line of each row; nothing for a file without lines.
        """

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa

        path = self.file(workspace)
        columns: dict[str, list[Any]] = {name: [] for name in self.columns}
        notes = list[str]()
        lines = self.fill(path, columns, notes) or None
        if self.labels and self.label_column in columns:
            columns[self.label_column] = [respelled(label, self.labels) for label in columns[self.label_column]]
        rows = Rows(pa.table({}), str(path), lines, tuple(notes))
        table = pa.table({name: rows.column(self.columns[name], values) for name, values in columns.items()})
        return replace(rows, table=table)


@dataclass(frozen=True)
class RowsFrom(Source):
    """A function of a plugin that reads the rows."""

    function: Callable[[Workspace], Mapping[str, Sequence[object]]]
    """Takes the workspace and returns the columns by name."""

    def where(self, workspace: Workspace) -> str:
        return f"{self.function.__module__}.{self.function.__qualname__}"

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa

        return Rows(pa.table(dict(self.function(workspace))), self.where(workspace))


@dataclass(frozen=True)
class OfSource(Source):
    """Another source, whose rows are changed after they are read."""

    source: Source

    def where(self, workspace: Workspace) -> str:
        return self.source.where(workspace)

    def at(self, path: Path) -> Source | None:
        source = self.source.at(path)
        return None if source is None else replace(self, source=source)


@dataclass(frozen=True)
class Reshaped(OfSource):
    """Another source, whose table a function turns into the task's table: for example four columns into one list.

    Where the source's own label columns have the names that the task's problem gives them, `predict` reads files
    without labels too; `columns` then gets a table without these columns.
    """

    columns: Callable[[pa.Table], pa.Table]
    """Takes the source's table and returns the task's table. With another number of rows, for example several rows for
    each question, messages name rows instead of lines of the file."""

    def read(self, workspace: Workspace) -> Rows:
        rows = self.source.read(workspace)
        try:
            table = self.columns(rows.table)
        except DataError as error:
            if isinstance(error, BadRows) or rows.origin in str(error):
                raise
            raise DataError(f"{rows.origin}: {error}") from error  # the function knows the rows, not their file
        return Rows(table, rows.origin, rows.lines if table.num_rows == len(rows) else None, rows.notes)

    def unlabelled(self, label_columns: Collection[str]) -> Source:
        return Reshaped(self.source.unlabelled(label_columns), self.columns)


@dataclass(frozen=True)
class Filtered(OfSource):
    """Another source without the rows that a function refuses: for example without pairs that have no majority label.

    A note says how many rows were left out. Rows of a user's own file are all kept, since each of them wants an answer.
    """

    keep: Callable[[Mapping[str, Any]], bool]
    """Takes a row, by the names of the source's columns, and says whether the row is kept."""
    reason: str
    """What the rows are that are left out, for the note: for example "without a majority label"."""

    def read(self, workspace: Workspace) -> Rows:
        rows = self.source.read(workspace)
        kept = [number for number, row in enumerate(rows.table.to_pylist()) if self._keeps(rows, number, row)]
        if len(kept) == len(rows):
            return rows
        note = f"left out {len(rows) - len(kept):,} of {len(rows):,} rows: {self.reason}"
        return replace(rows.taken(kept), notes=(*rows.notes, note))

    def _keeps(self, rows: Rows, number: int, row: Mapping[str, Any]) -> bool:
        try:
            return bool(self.keep(row))
        except Exception as error:  # the function is a plugin's, and a file may hold anything
            raise DataError(
                f"{rows.where(number)}: cannot say whether this row is kept: {described(error)}."
            ) from error

    def unlabelled(self, label_columns: Collection[str]) -> Source:
        return self.source.unlabelled(label_columns)
