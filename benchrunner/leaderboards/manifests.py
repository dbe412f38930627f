"""Manifests: where the files of a submission come from, written beside the archive."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, final

from benchrunner.errors import RequestError
from benchrunner.leaderboards.archives import MAX_BYTES, MAX_FILES
from benchrunner.strict_tables import StrictTable


@final
@dataclass(frozen=True)
class FileOrigin:
    """Where one file of a submission comes from."""

    file: str
    task: str
    split: str
    rows: int
    """Number of answers in the file."""
    official_rows: int
    """The board's official number of rows."""
    fit: str
    """Id of the fit that gave the answers; empty where there is none."""
    method: str
    filled: str
    """Reason why the majority answers instead of the requested fit; empty for answers of the requested fit."""
    sha256: str


@final
@dataclass(frozen=True)
class Manifest:
    """Where the files of an archive come from. It is a file beside the archive, because servers refuse extra files."""

    board: str
    archive_sha256: str
    """Digest of the archive or folder: see `archive_digest`."""
    files: tuple[FileOrigin, ...]

    @property
    def is_official(self) -> bool:
        """Whether the row counts are the board's official counts. Those of demo data are not."""
        return all(file.rows == file.official_rows for file in self.files)

    @property
    def counts(self) -> dict[str, int]:
        """File -> number of answers in it."""
        return {file.file: file.rows for file in self.files}

    @property
    def filled(self) -> tuple[FileOrigin, ...]:
        """The files that the majority answers instead of a requested fit."""
        return tuple(file for file in self.files if file.filled)

    def as_json(self) -> dict[str, Any]:
        return {"format": 1, "official": self.is_official, **asdict(self)}


def manifest_path(archive: Path) -> Path:
    """Return the path of an archive's manifest."""
    return archive.with_name(f"{archive.name}.json")


def read_manifest(archive: Path) -> Manifest:
    """Read the manifest beside an archive; raises `RequestError` if it is missing or wrong."""
    path = manifest_path(archive)
    if not path.is_file():
        raise RequestError(f"There is no manifest {path}: only archives that benchrunner wrote have one.")
    top = StrictTable.json(path, RequestError)
    if (version := top.whole("format")) != 1:
        raise top.wrong("format", f"expected 1, found {version}; another version of benchrunner wrote this manifest.")
    files = tuple(_origin(table) for table in top.tables("files", "file"))
    return Manifest(top.text("board"), top.text("archive_sha256"), files)


def archive_digest(path: Path) -> str:
    """Compute the SHA-256 of an archive's bytes, or of the names and contents of a folder's files."""
    if not path.is_dir():
        return _file_digest(path)
    whole = hashlib.sha256()
    for file in sorted(islice(path.iterdir(), MAX_FILES)):
        content = _file_digest(file) if file.is_file() else "no file"
        whole.update(f"{file.name}\0{content}\0".encode())
    return whole.hexdigest()


def _file_digest(path: Path) -> str:
    """Compute the SHA-256 of a file's bytes. What is too large for a submission is not read and has no digest."""
    if path.stat().st_size > MAX_BYTES:
        return "too large"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
