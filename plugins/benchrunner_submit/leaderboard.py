"""A leaderboard: the files that it takes, with the task and split that each file answers, and published results."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from benchrunner import Board, PluginError, PublishedColumn, PublishedRow, RequestError, Task, published
from benchrunner.engine import decoding
from benchrunner_submit.board_checks import check_column, check_file, check_offered
from benchrunner_submit.file_kinds.file_kind import FileKind

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.table import Table

Pair = tuple[str, str]
"""The name of a task and of one of its splits."""


@final
@dataclass(frozen=True)
class BoardFile:
    """One file of a submission: which answers it holds and how they are written."""

    name: str
    """Exact name of the file, at the top level of the archive."""
    task: str
    """Name of the task whose answers the file holds."""
    split: str
    rows: int
    """Official number of rows of the split."""
    kind: FileKind
    other_rows: Mapping[int, str] = field(default_factory=dict)
    """Numbers of rows that are common mistakes -> which data has that number. Messages show it."""
    extra_figure: str = ""
    """Name of the figure in `Problem.extra_figures` that the file holds, for example probabilities; empty for the
    answers themselves."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\w[\w .-]*", self.name):
            raise PluginError(f"A file's name has letters, digits and - . _, and no folder; found '{self.name}'.")
        if not re.fullmatch(r"[^/\sA-Z]+/[^\sA-Z]+", self.task):
            raise PluginError(f"A task's name is 'suite/task' in lower case, not '{self.task}'.")
        if self.rows < 1:
            raise PluginError(f"{self.name} needs at least one row, not {self.rows}.")

    @property
    def pair(self) -> Pair:
        """The task and the split whose answers the file holds."""
        return self.task, self.split

    def rows_to_compare(self, table: pa.Table | None) -> pa.Table | None:
        """Return the rows if the file holds columns of them and they have all these columns, else None."""
        columns = set(self.kind.row_columns)
        if table is None or not columns:
            return None
        return table if columns.issubset(table.column_names) else None


@final
@dataclass(frozen=True)
class Leaderboard(Board):
    """A place that takes files of answers, lists published results, or both.

    The plugin submit writes submissions and checks them.
    """

    name: str
    """Short name in lower case, as the user types it."""
    title: str
    url: str
    archive: str = ""
    """Usual name of a submission: NAME.zip for an archive, NAME/ for a plain folder. Empty if there are no files."""
    files: tuple[BoardFile, ...] = field(default=(), metadata=decoding.key_of("file"))
    """Files of a submission. A leaderboard without files only lists published results."""
    columns: Mapping[str, PublishedColumn] = field(default_factory=dict)
    """Column of the published results -> what the column measures."""
    published: tuple[PublishedRow, ...] = ()
    note: str = ""
    """What a user should know before a submission, in whole sentences."""
    origin: str = ""
    """File that describes the leaderboard, for messages."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", self.name):
            raise PluginError(f"A leaderboard's name is short and lower case, without spaces, not '{self.name}'.")
        if self.files and not re.fullmatch(r"\w[\w .-]*(\.zip|/)", self.archive):
            raise PluginError(f"{self.name}: the archive is NAME.zip, or NAME/ for a folder, not '{self.archive}'.")
        if not self.files and (self.archive or not self.published):
            raise PluginError(f"{self.name}: give files with the name of their archive, or published results, or both.")
        names = [file.name.casefold() for file in self.files]
        repeated = {file.name for file in self.files if names.count(file.name.casefold()) > 1}
        if repeated:
            raise PluginError(f"{self.name}: several files have the same name: {', '.join(sorted(repeated))}.")
        published.check_rows(self.columns, self.published)

    def check_tasks(self, tasks: Mapping[str, Task], offered: Collection[str]) -> None:
        for file in self.files:
            if file.task in tasks:
                check_file(file, tasks[file.task])
            else:
                check_offered(file.name, file.task, offered)
        for name, column in self.columns.items():
            check_column(f"columns.{name}", column, tasks, offered)

    @property
    def wanted(self) -> tuple[Pair, ...]:
        return tuple(dict.fromkeys(file.pair for file in self.files))

    def tables(self) -> Iterator[tuple[str, Table, Sequence[str]]]:
        from benchrunner_submit.published_tables import tables

        return tables(self.columns, self.published)

    @property
    def is_folder(self) -> bool:
        """Whether a submission is a plain folder and no archive."""
        return self.archive.endswith("/")

    def check_takes_files(self) -> None:
        """Raise a `RequestError` if the leaderboard takes no files."""
        if not self.files:
            raise RequestError(f"{self.name} takes no files: it only lists published results.")

    def files_of(self, task: str) -> list[BoardFile]:
        """List the files that hold a task's answers."""
        return [file for file in self.files if file.task == task]
