"""The noun: a leaderboard maps files to (task, split, spelling of the answers). Most are one .toml file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, final

from benchrunner.errors import PluginError
from benchrunner.leaderboards.columns_file import Columns
from benchrunner.leaderboards.file_kind import FileKind
from benchrunner.leaderboards.json_file import JsonMap
from benchrunner.leaderboards.lines_file import Lines
from benchrunner.leaderboards.spellings import Labels, Number, Spelling, Text
from benchrunner.leaderboards.table_file import Table
from benchrunner.strict_tables import StrictTable
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task

if TYPE_CHECKING:
    import pyarrow as pa

Pair = tuple[str, str]
"""A task and one of its splits."""


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
    extra_figure: str = ""
    """Which of the figures beside the answers it holds, such as probabilities; empty for the answers themselves."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\w[\w .-]*", self.name):
            raise PluginError(f"A file's name has letters, digits and - . _, and no folder; found '{self.name}'.")
        if not re.fullmatch(r"[^/\sA-Z]+/[^\sA-Z]+", self.task):
            raise PluginError(f"A task's name is 'suite/task' in lower case, not '{self.task}'.")
        if self.rows < 1:
            raise PluginError(f"{self.name} needs at least one row, not {self.rows}.")

    @property
    def pair(self) -> Pair:
        """Whose answers it holds."""
        return self.task, self.split

    def comparable(self, table: pa.Table | None) -> pa.Table | None:
        """The rows, if they have what stands in the file."""
        wanted = set(self.kind.compares)
        return table if table is not None and wanted and wanted <= set(table.column_names) else None


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
    """A place that takes files of answers. `write_answers` writes for it and `find_faults` validates."""

    name: str
    """Short and lower case: what the user types."""
    title: str
    url: str
    archive: str
    """The usual name of what holds the files: NAME.zip, or NAME/ for a plain folder."""
    files: tuple[BoardFile, ...]
    columns: Mapping[str, Term | None] = field(default_factory=dict)
    """The columns of the published rows, and the figure of ours that belongs in each; None where there can be none."""
    published: tuple[Published, ...] = ()
    note: str = ""
    """What a user should know before sending anything there, in whole sentences."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", self.name):
            raise PluginError(f"A leaderboard's name is short and lower case, without spaces, not '{self.name}'.")
        if not re.fullmatch(r"\w[\w .-]*(\.zip|/)", self.archive):
            raise PluginError(f"{self.name}: the archive is NAME.zip, or NAME/ for a folder, not '{self.archive}'.")
        if not self.files:
            raise PluginError(f"{self.name}: a leaderboard takes at least one file.")
        names = [file.name.casefold() for file in self.files]
        if twice := {file.name for file in self.files if names.count(file.name.casefold()) > 1}:
            raise PluginError(f"{self.name}: files of one name: {', '.join(sorted(twice))}.")
        for name, term in self.columns.items():
            if term is not None and not self.files_of(term.task):
                raise PluginError(f"{self.name}: column {name} is of {term.task}, which no file holds.")
        for row in self.published:
            if strange := [name for name in row.cells if name not in self.columns]:
                known = ", ".join(self.columns) or "none"
                raise PluginError(f"{self.name}: {row.system} has a cell '{strange[0]}'; the columns are {known}.")

    @property
    def wanted(self) -> tuple[Pair, ...]:
        """The tasks and splits whose answers make a whole submission, in the order of the files."""
        return tuple(dict.fromkeys(file.pair for file in self.files))

    @property
    def is_folder(self) -> bool:
        """Whether the files lie in a plain folder."""
        return self.archive.endswith("/")

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
        note = top.text("note", "")
        top.finish()
        with top.naming("the board"):
            return cls(**found, files=files, columns=columns, published=published, note=note)


def _file(table: StrictTable) -> BoardFile:
    name, task, split, rows = table.text("name"), table.text("task"), table.text("split"), table.whole("rows")
    kind = table.text("kind")
    if kind not in KINDS:
        raise table.wrong("kind", f"there is no kind of file '{kind}'; there is {', '.join(KINDS)}.")
    built = KINDS[kind](table)
    other_rows = {_count(table, key): text for key, text in table.named_texts("other_rows", optional=True).items()}
    extra_figure = table.text("extra_figure", "")
    table.finish()
    with table.naming("the file"):
        return BoardFile(name, task, split, rows, built, other_rows, extra_figure)


def _table(table: StrictTable) -> FileKind:
    header, spelling = table.texts("header"), _spelling(table)
    if len(header) != 2:
        raise table.wrong("header", f"expected two names, index and answer, found {list(header)}.")
    with table.naming("header"):
        return Table((header[0], header[1]), spelling)


def _lines(table: StrictTable) -> FileKind:
    spelling, values = _spelling(table), table.whole("values") if "values" in table else 1
    with table.naming("values"):
        return Lines(spelling, values)


def _json_map(table: StrictTable) -> FileKind:
    spelled = "labels" in table or "number" in table
    return JsonMap(table.text("key"), _spelling(table) if spelled else Text())


def _columns(table: StrictTable) -> FileKind:
    columns, types, border = table.texts("columns"), table.texts("types"), table.texts("border")
    with table.naming("columns"):
        return Columns(columns, types, border)


KINDS: Mapping[str, Callable[[StrictTable], FileKind]] = {
    "table": _table,
    "lines": _lines,
    "json": _json_map,
    "columns": _columns,
}
"""What `kind` may say in a .toml file, and what reads the keys of that kind."""


def _spelling(table: StrictTable) -> Spelling:
    if ("labels" in table) == ("number" in table):
        raise table.wrong("labels", "give either labels or number, to say how an answer is written.")
    if "labels" in table:
        labels = table.named_texts("labels")
        with table.naming("labels"):
            return Labels(labels)
    number = table.table("number")
    low, high = number.number("low"), number.number("high")
    decimals = number.whole("decimals") if "decimals" in number else None
    outside = number.text("outside", "")
    number.finish()
    with table.naming("number"):
        return Number(low, high, decimals, outside)


def _count(table: StrictTable, key: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", key):
        raise table.wrong("other_rows", f"expected a count of rows as key, found '{key}'.")
    return int(key)


def _term(table: StrictTable) -> Term | None:
    """A figure of ours, or nothing at all in the table: `{}`."""
    if not table:
        return None
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


def spellings_of(task: Task, boards: Iterable[Leaderboard]) -> dict[str, str]:
    """How boards and the task's own data files spell its labels: text -> label.

    A text that two of them mean differently stands for nothing: guessing would be a wrong score.
    """
    known = [file.kind.meanings for board in boards for file in board.files_of(task.name)]
    known += [getattr(source, "labels", {}) for split in task.splits.values() for source in split.sources]
    found: dict[str, set[str]] = {}
    for meanings in known:
        for text, label in meanings.items():
            found.setdefault(text, set()).add(label)
    return {text: labels.pop() for text, labels in found.items() if len(labels) == 1}
