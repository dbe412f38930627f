"""Official scorers of prediction files, as a plugin offers them with its tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchrunner.data.rows import Rows
from benchrunner.metrics import Score


@dataclass(frozen=True)
class Scored:
    """What an official scorer says of a file."""

    figures: Mapping[str, Score]
    """By the scorer's own names, on its own scale."""
    text: str
    """The same for people."""
    notes: tuple[str, ...] = ()
    """What is unusual about a file and no figure says: one sentence each, which names the file."""


class Scorer(ABC):
    """An official scorer: the layout of prediction files that it reads, and its figures to the last digit."""

    options: Mapping[str, str] = {}
    """Further files that it may be given: the name of a command-line option -> its help."""
    needs_gold: bool = True
    """False where a prediction file holds the gold answers too; they are then compared only if the user names some."""

    @abstractmethod
    def recognizes(self, path: Path) -> bool:
        """Whether a file looks like this layout; others are read as `index<TAB>prediction` or an answer a line."""

    @abstractmethod
    def score(self, path: Path, gold: Rows | None, files: Mapping[str, Path]) -> Scored:
        """The figures, or a `DataError` that names file and place; `files` are those of the options that were given."""
