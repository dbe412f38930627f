"""The rows of one language of a file that holds several, such as XNLI's dev and test files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchrunner import DataError, Rows, Source, Workspace

COLUMN = "language"
"""Column that the file's source gives the language of each row in."""


@dataclass(frozen=True)
class OfLanguage(Source):
    """Another source, of which only the rows in one language are kept, with their lines."""

    source: Source
    """Has the column `language`."""
    language: str

    def where(self, workspace: Workspace) -> str:
        return self.source.where(workspace)

    def read(self, workspace: Workspace) -> Rows:
        rows = self.source.read(workspace)
        languages: list[str] = rows.table.column(COLUMN).to_pylist()
        kept = [row for row, language in enumerate(languages) if language == self.language]
        if not kept:
            known = sorted(set(languages))
            raise DataError(
                f"{rows.origin}: no rows in the language '{self.language}'; it has {', '.join(known) or 'no rows'}."
            )
        lines = None if rows.lines is None else [rows.lines[row] for row in kept]
        return Rows(rows.table.take(kept).drop_columns([COLUMN]), rows.origin, lines, rows.notes)

    def at(self, path: Path) -> Source | None:
        source = self.source.at(path)
        return None if source is None else OfLanguage(source, self.language)
