"""The contract of a kind of file: it writes answers as bytes, and finds every fault in bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, final

from benchrunner import Faults, quoted, some_names

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

    def check_ids(self, file_ids: Collection[object], columns: Sequence[str], faults: Faults) -> None:
        """Add a fault for ids of the rows that the file lacks, and for ids that no row has.

        `columns` are the columns of the rows that hold the ids. With several columns, an id is a tuple of their values.
        Does nothing where the rows are not known.
        """
        if self.table is None:
            return
        values = [self.table.column(column).to_pylist() for column in columns]
        row_ids = values[0] if len(values) == 1 else list(zip(*values, strict=True))
        known = set(row_ids)
        missing = [_shown_id(row_id, columns) for row_id in row_ids if row_id not in file_ids]
        unknown = [_shown_id(file_id, columns) for file_id in file_ids if file_id not in known]
        if missing:
            faults.say(f"no answer to {some_names(missing, 3)}; every id of the rows must be there")
        if unknown:
            faults.say(f"no row has the id {some_names(unknown, 3)}; these may be answers to other rows")


def _shown_id(row_id: object, columns: Sequence[str]) -> str:
    if isinstance(row_id, tuple):
        return " ".join(f"{column} {value}" for column, value in zip(columns, row_id, strict=True))
    return quoted(row_id) if isinstance(row_id, str) else str(row_id)


class FileKind(ABC):
    """A kind of file. Plugins subclass it for files that none of the built-in kinds describes."""

    unit: ClassVar[str] = "line"
    """Unit used to locate a fault, for example 'line'."""

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
        self.find_faults(content, ExpectedRows(rows, other_rows, table), faults)
        return faults.sentences()

    @abstractmethod
    def find_faults(self, content: bytes, expected: ExpectedRows, faults: Faults) -> None:
        """Add every fault of a file's content to `faults`."""

    @property
    def row_columns(self) -> tuple[str, ...]:
        """Columns of the data that the file repeats, such as ids; a check compares them with the data."""
        return ()

    def answer_texts(self, content: bytes) -> Sequence[str]:
        """List the answers of a file without faults, to flag a file that answers alike everywhere; empty by default."""
        return ()

    @property
    def labels_by_text(self) -> Mapping[str, str]:
        """The file's text of each label -> the task's label; empty where answers are not labels."""
        return {}

    def max_bytes(self, rows: int) -> int:
        """Largest size of a file with so many rows. Nothing is read of a larger file."""
        return 2**20 + 4096 * rows
