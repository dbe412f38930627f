"""Manifests: where the files of a submission come from, written beside the archive."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from benchrunner import RequestError, quoted, read_json_object, some_names
from benchrunner.engine import decoding

FORMAT = 2
"""Version of the manifest's format."""


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
    backbone: str
    """Name of the backbone that answered; several names for an ensemble; empty where there is none."""
    limit_train: int | None
    """Number of training rows that the fit was limited to; None if it saw all of them."""
    limit_dev: int | None
    """Number of rows of each dev split that selected the fit and that `dev` is of; None if these are all rows."""
    dev: Mapping[str, float]
    """Scores on dev: split and metric, such as "dev accuracy" -> score."""
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
    date: str
    """When the archive was written, in UTC, such as 2025-01-31T12:00:00+00:00."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """File of the leaderboard that was left out -> the reason."""

    @property
    def has_official_counts(self) -> bool:
        """Whether each file of the submission has as many rows as the leaderboard officially asks for."""
        return all(file.rows == file.official_rows for file in self.files)

    @property
    def counts(self) -> dict[str, int]:
        """File -> number of answers in it."""
        return {file.file: file.rows for file in self.files}

    @property
    def filled(self) -> tuple[FileOrigin, ...]:
        """The files that the majority answers instead of a requested fit."""
        return tuple(file for file in self.files if file.filled)

    @property
    def remarks(self) -> list[str]:
        """What keeps the files from being the answers of trained models, in a sentence each; empty if nothing does."""
        filled = [file.file for file in self.filled]
        few_train = list[str]()
        few_dev = list[str]()
        for file in self.files:
            if file.limit_train is not None:
                few_train.append(f"{file.file} ({file.limit_train:,} rows)")
            if file.limit_dev is not None:
                few_dev.append(f"{file.file} ({file.limit_dev:,} rows)")
        remarks = {
            "filled in, not answered by a model": filled,
            "by models of limited training rows": few_train,
            "by models that limited dev rows selected": few_dev,
        }
        sentences = list[str]()
        if self.missing:
            verb = "is" if len(self.missing) == 1 else "are"
            count = f"{len(self.missing)} of {len(self.files) + len(self.missing)} files {verb} missing"
            sentences.append(f"Incomplete: {count}: {some_names(list(self.missing), 3)}.")
        for remark, files in remarks.items():
            if files:
                share = f"{len(files)} of {len(self.files)} files {'is' if len(files) == 1 else 'are'}"
                sentences.append(f"{share} {remark}: {some_names(files, 3)}.")
        return sentences

    def content(self) -> dict[str, Any]:
        """Return the content of the manifest's file: the fields, after a summary of them for people who read it."""
        summary = {
            "official_counts": self.has_official_counts,
            "filled_files": len(self.filled),
            "missing_files": len(self.missing),
        }
        return {"format": FORMAT, **summary, "remarks": self.remarks, **decoding.as_json(self)}


def manifest_path(archive: Path) -> Path:
    """Return the path of an archive's manifest."""
    return archive.with_name(f"{archive.name}.json")


def read_manifest(archive: Path) -> Manifest:
    """Read the manifest beside an archive; raises `RequestError` if it is missing or wrong."""
    path = manifest_path(archive)
    if not path.is_file():
        raise RequestError(f"There is no manifest {path}: only archives that benchrunner wrote have one.")
    content = read_json_object(path, error=RequestError)
    if (version := content.get("format", "none")) != FORMAT:
        raise RequestError(
            f"{path}: format: expected {FORMAT}, found {quoted(version, 20)}; another version of "
            "benchrunner wrote this manifest."
        )
    fields = {name: value for name, value in content.items() if name not in _SUMMARY}
    return decoding.from_json(Manifest, fields, path, RequestError)


_SUMMARY = ("format", "official_counts", "filled_files", "missing_files", "remarks")
"""Keys of a manifest's file that are no fields of `Manifest`."""


def find_manifest(archive: Path) -> Manifest | None:
    """Read the manifest beside an archive if there is one that describes the archive as it is."""
    try:
        manifest = read_manifest(archive)
    except RequestError:  # another file may have the name of a manifest
        return None
    return manifest if manifest.archive_sha256 == archive_digest(archive) else None


def archive_digest(path: Path) -> str:
    """Compute the SHA-256 of an archive's bytes, or of the names and contents of a folder's files."""
    if not path.is_dir():
        return _file_digest(path)
    whole = hashlib.sha256()
    for file in sorted(path.iterdir()):
        content = _file_digest(file) if file.is_file() else "no file"
        whole.update(f"{file.name}\0{content}\0".encode())
    return whole.hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
