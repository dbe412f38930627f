"""One file of a submission to a leaderboard."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from benchrunner import PluginError
from benchrunner_submit.file_kinds.file_kind import FileKind

if TYPE_CHECKING:
    import pyarrow as pa

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
