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
    """The figures of an official scorer for a prediction file."""

    figures: Mapping[str, Score]
    """Figures by the names that the scorer gives them, on its own scale."""
    text: str
    """The figures as text for people."""
    notes: tuple[str, ...] = ()
    """Remarks about the file that no figure shows; one sentence each, which names the file."""


class Scorer(ABC):
    """An official scorer: reads its layout of prediction files and computes its figures to the last digit."""

    options: Mapping[str, str] = {}
    """Options of `score` that name further files: the option's name -> its help text."""
    needs_gold: bool = True
    """False if prediction files hold the gold answers too; they are then checked only if the user names gold files."""

    @abstractmethod
    def recognizes(self, path: Path) -> bool:
        """Say whether a file has this layout; other files are read as `index<TAB>prediction` or one answer per line."""

    @abstractmethod
    def score(self, path: Path, gold: Rows | None, files: Mapping[str, Path]) -> Scored:
        """Compute the figures, or raise a `DataError` with file and place. `files` are those of the given options."""
