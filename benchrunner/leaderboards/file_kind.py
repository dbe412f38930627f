"""Kinds of file that leaderboards take: answers to bytes, and bytes to everything that is wrong with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, final

from benchrunner.file_faults import Faults

if TYPE_CHECKING:
    import pyarrow as pa

NO_OTHERS: Mapping[int, str] = MappingProxyType({})


@final
@dataclass(frozen=True)
class Answers:
    """The answers to one split, in the order of its rows, and where they come from."""

    values: Sequence[Any]
    """As the task's problem decodes them: labels, numbers or texts of the task, not of the board."""
    table: pa.Table | None = None
    """The rows that were asked; some kinds of file name them."""
    extra_figures: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Further figures of each row, by name, as `Problem.extra_figures` gives them."""
    fit: str = ""
    """The identity of the fit that gave them."""
    method: str = ""
    filled: str = ""
    """Why a stand-in answers instead of a fit that was asked for; empty where none does."""


@final
@dataclass(frozen=True)
class Wanted:
    """What a file is checked against."""

    rows: int
    """How many answers are expected."""
    others: Mapping[int, str] = field(default_factory=dict)
    """Counts that people come with by mistake, and what has them."""
    table: pa.Table | None = None
    """The rows themselves, whose columns `FileKind.compares` are there: the file is compared with them."""

    def check_count(self, found: int, unit: str, faults: Faults) -> None:
        """Say a count that is not the expected one, and what has that count."""
        if found != self.rows:
            hint = f" ({self.others[found]})" if found in self.others else ""
            faults.say(f"{found:,} {unit if found == 1 else unit + 's'}{hint}, expected {self.rows:,}")


class FileKind(ABC):
    """One kind of file. A kind that no row of a table can describe is a value of a plugin's own subclass."""

    unit: ClassVar[str] = "line"
    """What the faults of a file that is checked are told by."""

    @abstractmethod
    def write(self, name: str, answers: Answers) -> bytes:
        """The file's content, or a `RequestError` that names every kind of unwritable answer."""

    def check(
        self,
        name: str,
        content: bytes,
        rows: int,
        other_rows: Mapping[int, str] = NO_OTHERS,
        table: pa.Table | None = None,
    ) -> list[str]:
        """Everything that is wrong with a file's content, a sentence each; see `Wanted` for what it is held against."""
        faults = Faults(name, self.unit)
        self.find_faults(content, Wanted(rows, other_rows, table), faults)
        return faults.sentences()

    @abstractmethod
    def find_faults(self, content: bytes, wanted: Wanted, faults: Faults) -> None:
        """Say everything that is wrong with a file's content."""

    @property
    def compares(self) -> tuple[str, ...]:
        """The columns of the rows that stand in the file: needed to write it, and to check it to the end."""
        return ()

    @property
    def meanings(self) -> Mapping[str, str]:
        """Each text for an answer and the task's label that it stands for, where answers are labels."""
        return {}

    def bound(self, rows: int) -> int:
        """The most bytes that such a file can need; of a larger one no more is read."""
        return 2**20 + 4096 * rows
