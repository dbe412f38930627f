"""The noun: a leaderboard maps files to (task, split, spelling of the answers). Most are one .toml file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from benchrunner.boardfiles import FileKind, Table
from benchrunner.errors import PluginError
from benchrunner.spellings import Labels, Number, Spelling
from benchrunner.strict import StrictTable
from benchrunner.tasks import Term


@final
@dataclass(frozen=True)
class BoardFile:
    """One file of a submission: where its answers come from and how they are written down."""

    name: str
    """To the letter, at the top level of the archive."""
    task: str
    split: str
    rows: int
    """The official count of the split's rows."""
    kind: FileKind
    other_rows: Mapping[int, str] = field(default_factory=dict)
    """Counts that people come with by mistake, and what has that many rows."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\w[\w .-]*", self.name):
            raise PluginError(f"A file's name has letters, digits and - . _, and no folder; found '{self.name}'.")
        if not re.fullmatch(r"[^/\sA-Z]+/[^\sA-Z]+", self.task):
            raise PluginError(f"A task's name is 'suite/task' in lower case, not '{self.task}'.")
        if self.rows < 1:
            raise PluginError(f"{self.name} needs at least one row, not {self.rows}.")


@final
@dataclass(frozen=True)
class Published:
    """A row that somebody printed: what our figures stand beside."""

    system: str
    source: str
    """Where it was printed, well enough to find it."""
    cells: Mapping[str, float]
    """Column -> figure, as printed; a column without one has no cell."""
    average: float | None = None
    """The source's own mean over its columns."""
    score: float | None = None
    """The leaderboard's overall score, which is another figure than the average."""
    version: str = ""
    """Of the source, where versions differ."""
    notes: str = ""


@final
@dataclass(frozen=True)
class Leaderboard:
    """A place that takes files of answers. Written by `submissions.write`, validated by `submissions.check`."""

    name: str
    """Short and lower case: what the user types."""
    title: str
    url: str
    archive: str
    """The usual name of the archive."""
    files: tuple[BoardFile, ...]
    columns: Mapping[str, Term] = field(default_factory=dict)
    """The columns of the published rows, and the figure of ours that belongs in each."""
    published: tuple[Published, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", self.name):
            raise PluginError(f"A leaderboard's name is short and lower case, without spaces, not '{self.name}'.")
        if not self.archive.endswith(".zip") or "/" in self.archive:
            raise PluginError(f"{self.name}: the archive is the name of a .zip file, not '{self.archive}'.")
        if not self.files:
            raise PluginError(f"{self.name}: a leaderboard takes at least one file.")
        names = [file.name.casefold() for file in self.files]
        if twice := {file.name for file in self.files if names.count(file.name.casefold()) > 1}:
            raise PluginError(f"{self.name}: files of one name: {', '.join(sorted(twice))}.")
        for name, term in self.columns.items():
            if (term.task, term.split) not in self.wanted:
                raise PluginError(f"{self.name}: column {name} is of {term.task}, {term.split}, which no file holds.")
        for row in self.published:
            if strange := [name for name in row.cells if name not in self.columns]:
                known = ", ".join(self.columns) or "none"
                raise PluginError(f"{self.name}: {row.system} has a cell '{strange[0]}'; the columns are {known}.")

    @property
    def wanted(self) -> tuple[tuple[str, str], ...]:
        """The (task, split) pairs whose answers make a whole submission, in the order of the files."""
        return tuple(dict.fromkeys((file.task, file.split) for file in self.files))

    def files_of(self, task: str) -> list[BoardFile]:
        """The files that hold a task's answers; none where the board does not know the task."""
        return [file for file in self.files if file.task == task]

    @classmethod
    def from_toml(cls, path: Path) -> Leaderboard:
        """The board that a .toml file describes; a mistake in it is a `PluginError` that names file and key."""
        top = StrictTable.toml(path, PluginError)
        found = {key: top.text(key) for key in ("name", "title", "url", "archive")}
        files = tuple(_file(table) for table in top.tables("file", "name"))
        columns = {name: _term(table) for name, table in top.named_tables("columns").items()}
        published = tuple(_published(table) for table in top.tables("published", "system", optional=True))
        top.finish()
        with top.naming("the board"):
            return cls(**found, files=files, columns=columns, published=published)


def _file(table: StrictTable) -> BoardFile:
    name, task, split, rows = table.text("name"), table.text("task"), table.text("split"), table.whole("rows")
    kind = table.text("kind")
    if kind not in KINDS:
        raise table.wrong("kind", f"there is no kind of file '{kind}'; there is {', '.join(KINDS)}.")
    built = KINDS[kind](table)
    other_rows = {_count(table, key): text for key, text in table.named_texts("other_rows", optional=True).items()}
    table.finish()
    with table.naming("the file"):
        return BoardFile(name, task, split, rows, built, other_rows)


def _table(table: StrictTable) -> FileKind:
    header, spelling = table.texts("header"), _spelling(table)
    if len(header) != 2:
        raise table.wrong("header", f"expected two names, index and answer, found {list(header)}.")
    with table.naming("header"):
        return Table((header[0], header[1]), spelling)


KINDS: Mapping[str, Callable[[StrictTable], FileKind]] = {"table": _table}
"""What `kind` may say in a .toml file, and what reads the keys of that kind."""


def _spelling(table: StrictTable) -> Spelling:
    if ("labels" in table) == ("number" in table):
        raise table.wrong("labels", "give either labels or number, to say how an answer is written.")
    if "labels" in table:
        labels = table.named_texts("labels")
        with table.naming("labels"):
            return Labels(labels)
    number = table.table("number")
    low, high, decimals = number.number("low"), number.number("high"), number.whole("decimals")
    number.finish()
    with table.naming("number"):
        return Number(low, high, decimals)


def _count(table: StrictTable, key: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", key):
        raise table.wrong("other_rows", f"expected a count of rows as key, found '{key}'.")
    return int(key)


def _term(table: StrictTable) -> Term:
    term = Term(table.text("task"), table.text("split"), table.text("metric"))
    table.finish()
    return term


def _published(table: StrictTable) -> Published:
    row = Published(
        system=table.text("system"),
        source=table.text("source"),
        cells=table.named_numbers("cells"),
        average=table.maybe_number("average"),
        score=table.maybe_number("score"),
        version=table.text("version", ""),
        notes=table.text("notes", ""),
    )
    table.finish()
    return row
