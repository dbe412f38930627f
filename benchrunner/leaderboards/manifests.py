"""Manifests: where a submission's files come from, written beside the archive."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

from benchrunner.errors import RequestError
from benchrunner.strict_tables import StrictTable


@final
@dataclass(frozen=True)
class FileOrigin:
    """What a manifest says of one file."""

    file: str
    task: str
    split: str
    rows: int
    official_rows: int
    fit: str
    method: str
    filled: str
    sha256: str


@final
@dataclass(frozen=True)
class Manifest:
    """Where an archive's files come from. It lies beside the archive: servers refuse files that they do not know."""

    board: str
    archive_sha256: str
    files: tuple[FileOrigin, ...]

    @property
    def is_official(self) -> bool:
        """Whether the row counts are the leaderboard's; those of demo data are not."""
        return all(file.rows == file.official_rows for file in self.files)

    @property
    def counts(self) -> dict[str, int]:
        return {file.file: file.rows for file in self.files}

    @property
    def filled(self) -> tuple[FileOrigin, ...]:
        """The files that a stand-in answered."""
        return tuple(file for file in self.files if file.filled)

    def as_json(self) -> dict[str, Any]:
        return {"format": 1, "official": self.is_official, **asdict(self)}


def manifest_path(archive: Path) -> Path:
    """Where an archive's manifest lies."""
    return archive.with_name(f"{archive.name}.json")


def read_manifest(archive: Path) -> Manifest:
    """The manifest beside an archive, or a `RequestError`."""
    path = manifest_path(archive)
    if not path.is_file():
        raise RequestError(f"There is no manifest {path}: only archives that benchrunner wrote have one.")
    top = StrictTable.json(path, RequestError)
    if (found := top.whole("format")) != 1:
        raise top.wrong("format", f"expected 1, found {found}; it was written by another version of benchrunner.")
    files = tuple(_origin(table) for table in top.tables("files", "file"))
    return Manifest(top.text("board"), top.text("archive_sha256"), files)


def _origin(table: StrictTable) -> FileOrigin:
    return FileOrigin(
        file=table.text("file"),
        task=table.text("task"),
        split=table.text("split"),
        rows=table.whole("rows"),
        official_rows=table.whole("official_rows"),
        fit=table.text("fit", ""),
        method=table.text("method", ""),
        filled=table.text("filled", ""),
        sha256=table.text("sha256"),
    )
