"""The rows of one language of a file that holds several, such as XNLI's dev and test files."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchrunner import DataError, Rows, Workspace, sources

COLUMN = "language"
"""Column that the file's source gives the language of each row in."""


@dataclass(frozen=True)
class OfLanguage(sources.OfSource):
    """Another source, of which only the rows in one language are kept, with their lines."""

    language: str

    def read(self, workspace: Workspace) -> Rows:
        rows = self.source.read(workspace)
        languages: list[str] = rows.table.column(COLUMN).to_pylist()
        kept = [row for row, language in enumerate(languages) if language == self.language]
        if not kept:
            known = ", ".join(sorted(set(languages))) or "no rows"
            raise DataError(f"{rows.origin}: no rows in the language '{self.language}'; it has {known}.")
        rows = rows.taken(kept)
        return replace(rows, table=rows.table.drop_columns([COLUMN]))
