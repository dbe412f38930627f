"""A leaderboard: the files that it takes, with the task and split that each file answers, and published results."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from benchrunner import Board, PluginError, PublishedColumn, PublishedRow, RequestError, Task, published
from benchrunner.engine import decoding
from benchrunner_submit.board_checks import check_column, check_file, check_offered
from benchrunner_submit.board_file import BoardFile, Pair

if TYPE_CHECKING:
    from benchrunner.results import comparison


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

    def tables(self) -> Iterator[tuple[str, comparison.Layout, Sequence[str]]]:
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
