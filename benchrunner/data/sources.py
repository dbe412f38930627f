"""Where rows come from: delimited files with their quirks, data sets on the hub, or a plugin's own function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner.data.rows import Rows
from benchrunner.errors import DataError
from benchrunner.workspace import Workspace

if TYPE_CHECKING:
    import pyarrow as pa


class DataNotFound(DataError):
    """This source has nothing here; the next one is asked. The message says where it looked."""


def find_file(workspace: Workspace, names: Sequence[str]) -> Path:
    """The first file of these names, or `DataNotFound`; a name that is a whole path already needs no data folder."""
    if workspace.data is None and not all(Path(name).is_absolute() for name in names):
        raise DataNotFound(f"no data folder with {names[0]}: give --data DIR or set BENCHRUNNER_DATA")
    found = next((path for name in names if (path := (workspace.data or Path()) / name).is_file()), None)
    if found is None:
        raise DataNotFound(f"no file {searched_paths(workspace, names)}")
    return found


def searched_paths(workspace: Workspace, names: Sequence[str]) -> str:
    """Where `found_below` looks, for messages."""
    first, others = str((workspace.data or Path()) / names[0]), len(names) - 1
    return f"{first} (or {others} other usual place{'s' * (others > 1)})" if others else first


class Source(ABC):
    """One place that may hold a split's rows."""

    @abstractmethod
    def where(self, workspace: Workspace) -> str:
        """Where this source would look, for messages."""

    @abstractmethod
    def read(self, workspace: Workspace) -> Rows:
        """The rows, or `DataNotFound`."""

    def at(self, path: Path) -> Source | None:
        """The same layout in a file that the user names, or None where this source reads no files."""
        return None

    def unlabelled(self) -> Source:
        """The same without its labels, for a user's own questions; itself where labels may be missing anyway."""
        return self


@dataclass(frozen=True)
class RowsFrom(Source):
    """A plugin's own reader: a function from the workspace to a mapping of columns."""

    function: Callable[[Workspace], Mapping[str, Sequence[object]]]

    def where(self, workspace: Workspace) -> str:
        return f"{self.function.__module__}.{self.function.__qualname__}"

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa

        return Rows(pa.table(dict(self.function(workspace))), self.where(workspace))


@dataclass(frozen=True)
class Reshaped(Source):
    """Another source whose columns become others: four columns one list, two texts one."""

    source: Source
    columns: Callable[[pa.Table], pa.Table]
    """From the source's table to the task's, row by row in the same order."""

    def where(self, workspace: Workspace) -> str:
        return self.source.where(workspace)

    def read(self, workspace: Workspace) -> Rows:
        found = self.source.read(workspace)
        return Rows(self.columns(found.table), found.origin, found.lines, found.notes)

    def at(self, path: Path) -> Source | None:
        moved = self.source.at(path)
        return None if moved is None else Reshaped(moved, self.columns)

    def unlabelled(self) -> Source:
        return Reshaped(self.source.unlabelled(), self.columns)
