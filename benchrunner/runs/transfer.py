"""The files of a run as values, to send a run from one machine to another."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path, PurePosixPath

from benchrunner.errors import FitError
from benchrunner.io.files import write_atomically
from benchrunner.runs.folder import RunFolder

LAST = "record.json"
"""File that is written last: where it exists, all other files do."""


def packed(folder: Path) -> dict[str, bytes]:
    """Read the files of a run's folder, without its checkpoint, lock and temporary files: path -> bytes."""
    paths = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    kept = {name: path for name, path in paths.items() if name.parts[0] != "checkpoint" and not _is_hidden(name)}
    return {name.as_posix(): path.read_bytes() for name, path in kept.items()}


def unpack(files: Mapping[str, bytes], runs: Path, run: str) -> None:
    """Write the files of a run to its folder, unless the run is finished there already."""
    folder = RunFolder(runs, run)
    with folder.locked(lambda: None):
        record = folder.record()
        if record is not None and record.status != "failed":
            return
        for name in sorted(files, key=lambda name: name == LAST):
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                raise FitError(f"A worker sent a file of the run {run} with the name {name}, which is outside of it.")
            write_atomically(folder.path / path, partial(Path.write_bytes, data=files[name]))


def _is_hidden(name: Path) -> bool:
    return any(part.startswith(".") for part in name.parts)
