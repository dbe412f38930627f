"""The contract of a kind of file: it writes answers as bytes, and reads bytes with their faults."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, final

from benchrunner import Faults, some_names

if TYPE_CHECKING:
    import pyarrow as pa


@final
@dataclass(frozen=True)
class Answers:
    """The answers to one split, in the order of its rows, and where they come from."""

    values: Sequence[Any]
    """The answers as the task's problem decodes them: the task's labels, numbers or texts, not the board's spelling."""
    table: pa.Table | None = None
    """The rows of the split, needed by kinds of file that hold columns of the rows, such as ids."""
    extra_figures: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Further figures of each row, by name, as `Problem.extra_figures` gives them."""
    fit: str = ""
    """Id of the fit that gave the answers."""
    method: str = ""
    """Name of the fit's method."""
    backbone: str = ""
    """Name of the backbone that the fit trained; several names for an ensemble; empty where there is none."""
    limit_train: int | None = None
    """Number of training rows that the fit was limited to; None if it saw all of them."""
    limit_dev: int | None = None
    """Number of rows of each dev split that selected the fit; None if all of them did."""
    dev: Mapping[str, float] = field(default_factory=dict)
    """Scores on dev of what answers: split and metric, such as "dev accuracy" -> score."""
    filled: str = ""
    """Reason why the majority answers instead of the requested fit; empty for answers of the requested fit."""

    def column(self, name: str) -> list[Any]:
        """List the values of a column of the rows, which must be known: `FileKind.row_columns` needs the column."""
        assert self.table is not None
        values: list[Any] = self.table.column(name).to_pylist()
        return values


@final
@dataclass(frozen=True)
class ExpectedRows:
    """The rows that a file must answer."""

    count: int
    """Expected number of answers."""
    other_counts: Mapping[int, str] = field(default_factory=dict)
    """Numbers of answers that are common mistakes -> which rows have that number."""
    table: pa.Table | None = None
    """The rows, with the columns `FileKind.row_columns`, to compare the file with; None where they are not known."""

    def check_count(self, count: int, unit: str, faults: Faults) -> None:
        """Add a fault if the count is not the expected one."""
        if count != self.count:
            hint = f" ({self.other_counts[count]})" if count in self.other_counts else ""
            faults.say(f"{count:,} {unit}{'s' * (count != 1)}{hint}, expected {self.count:,}")

    def check_ids(self, ids: Sequence[tuple[int | str, Any]], faults: Faults, *, columns: Sequence[str] = ()) -> None:
        """Add a fault for an id that is there twice, for an id that no row has, and for ids that are missing.

        `ids` are the ids in the file, each after its line or its other place, and None for an id that cannot be read:
        then no id counts as missing. `columns` are the columns of the rows that hold the ids; with several columns, an
        id is a tuple of their values. Without columns, ids count the rows from 0.
        """
        known: Collection[Any] | None = None if columns else range(self.count)
        if columns and self.table is not None:
            values = [self.table.column(column).to_pylist() for column in columns]
            known = dict.fromkeys(values[0] if len(values) == 1 else zip(*values, strict=True))
        seen = set[Any]()
        for place, row_id in ids:
            if row_id is None:
                continue
            if row_id in seen:
                faults.at(place, _shown_id(row_id, columns), "this id is there already; each id must be there once")
            elif known is not None and row_id not in known:
                faults.at(place, _shown_id(row_id, columns), "no row has this id; this may be an answer to other rows")
            seen.add(row_id)
        missing = [_shown_id(row_id, columns) for row_id in known or () if row_id not in seen]
        if missing and all(row_id is not None for _, row_id in ids):
            faults.say(f"no answer to {some_names(missing, 3)}; every id of the rows must be there")


def _shown_id(row_id: object, columns: Sequence[str]) -> str:
    """Write the id of a row for a message; an id of several columns with their names."""
    if isinstance(row_id, tuple):
        return " ".join(f"{column} {value}" for column, value in zip(columns, row_id, strict=True))
    return str(row_id)


class FileKind(ABC):
    """A kind of file. Plugins subclass it for files that none of the built-in kinds describes."""

    unit: ClassVar[str] = "line"
    """Unit used to locate a fault, for example 'line'."""
    row_bytes: ClassVar[int] = 2048
    """Largest mean size of a row, with room for long texts."""

    @abstractmethod
    def write(self, name: str, answers: Answers) -> bytes:
        """Write the file's content. Raises a `RequestError` that names every answer that cannot be written."""

    def check(
        self,
        name: str,
        content: bytes,
        rows: int,
        other_rows: Mapping[int, str] = MappingProxyType({}),
        table: pa.Table | None = None,
    ) -> list[str]:
        """List the faults of a file's content, a sentence each; see `ExpectedRows` for the arguments."""
        faults = Faults(name, self.unit)
        self.answer_texts(content, ExpectedRows(rows, other_rows, table), faults)
        return faults.sentences()

    def answer_texts(self, content: bytes, expected: ExpectedRows, faults: Faults) -> Sequence[str]:
        """Read the answers as `read` does; add a fault if the content as a whole cannot be read."""
        try:
            return self.read(content, expected, faults)
        except ValueError as reason:
            faults.say(str(reason))
            return ()

    @abstractmethod
    def read(self, content: bytes, expected: ExpectedRows, faults: Faults) -> Sequence[str]:
        """Read the answers of a file as texts, and add every fault of its content to `faults`.

        Raises a `ValueError` with the reason if the content as a whole cannot be read. The texts of a file without
        faults tell whether it answers alike everywhere.
        """

    @property
    def row_columns(self) -> tuple[str, ...]:
        """Columns of the data that the file repeats, such as ids; a check compares them with the data."""
        return ()

    @property
    def labels_by_text(self) -> Mapping[str, str]:
        """The file's text of each label -> the task's label; empty where answers are not labels."""
        return {}

    def max_bytes(self, rows: int) -> int:
        """Largest size of a file with so many rows. Nothing is read of a larger file."""
        return 2**20 + self.row_bytes * rows
