"""Writes submissions: a whole archive or folder or none, with a manifest beside it."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from benchrunner import RequestError
from benchrunner.engine import write_atomically, write_folder_atomically, write_json
from benchrunner.results import output_places
from benchrunner_submit.board_file import BoardFile, Pair
from benchrunner_submit.file_kinds.file_kind import Answers
from benchrunner_submit.leaderboard import Leaderboard
from benchrunner_submit.submission_files.content import file_content
from benchrunner_submit.submission_files.manifests import FileOrigin, Manifest, archive_digest, manifest_path

_EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The first moment that the zip format can store."""


def write_answers(
    board: Leaderboard,
    answers: Mapping[Pair, Answers],
    path: Path,
    *,
    counts: Mapping[str, int] = MappingProxyType({}),
    missing: Mapping[str, str] = MappingProxyType({}),
) -> Path:
    """Write the archive or folder that a board takes, and its manifest. Returns the path that was written.

    Raises a `RequestError` that lists everything that is missing or wrong. `counts` replaces the official row counts
    of the files that it names, for demo data. The manifest has these counts; `findings` expects the official ones
    unless the manifest is given. `missing` are the files that were left out, with the reasons.
    """
    path = submission_path(board, path)
    files = _contents(board, answers, counts)
    try:
        manifest_path(path).unlink(missing_ok=True)  # the manifest of an earlier archive must not stay beside this one
        if board.is_folder:
            write_folder_atomically(path, lambda part: _fill(part, files))
        else:
            write_atomically(path, lambda part: _pack(part, files))
        origins = [_origin(file, answers[file.pair], files[file.name]) for file in board.files]
        date = datetime.now(UTC).isoformat(timespec="seconds")
        manifest = Manifest(board.name, archive_digest(path), tuple(origins), date, missing)
        write_json(manifest_path(path), manifest.content())
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror}.") from None
    return path


def _fill(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).write_bytes(content)


def _pack(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a zip archive with the files at its top level.

    Names, order, times and permissions are fixed, so equal content gives equal bytes (with the same version of zlib).
    """
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, _EARLIEST)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3  # Unix
            info.external_attr = 0o644 << 16  # readable by all
            archive.writestr(info, content, compresslevel=6)


def submission_path(board: Leaderboard, path: Path) -> Path:
    """Choose the path to write: the given path, or the board's usual name inside of a given folder.

    Where the board takes an archive, a new name without an ending is that of a folder. Raises a `RequestError` if
    nothing can be written there; call it before hours of fitting.
    """
    is_new_folder = not (board.is_folder or path.suffix or path.exists())
    if is_new_folder or (path.is_dir() and not _is_earlier_submission(board, path)):
        path /= board.archive.removesuffix("/")
    if board.is_folder and path.exists() and not _is_earlier_submission(board, path):
        raise RequestError(f"{path} exists and is no earlier submission to {board.title}: name another place.")
    output_places.check_place(path, is_file=not board.is_folder)
    return path


def _is_earlier_submission(board: Leaderboard, folder: Path) -> bool:
    """Tell whether a folder is a submission to the board and holds nothing else, so that it may be replaced."""
    if not board.is_folder or not folder.is_dir():
        return False
    names = {file.name for file in folder.iterdir()}
    return bool(names) and names <= {file.name for file in board.files}


def _contents(board: Leaderboard, answers: Mapping[Pair, Answers], counts: Mapping[str, int]) -> dict[str, bytes]:
    """Write every file's content; raises a `RequestError` that lists all that is missing or wrong."""
    unknown = set(counts) - {file.name for file in board.files}
    if unknown:
        names = ", ".join(sorted(unknown))
        raise RequestError(f"{board.title} has no file {names}, for which a row count was given.")
    contents = dict[str, bytes]()
    problems = list[str]()
    for file in board.files:
        try:
            if file.pair not in answers:
                raise RequestError(f"{file.name}: no answers to {file.task}, split {file.split}.")
            rows = counts.get(file.name, file.rows)
            contents[file.name] = file_content(file, answers[file.pair], rows)
        except RequestError as reason:
            problems += str(reason).split("\n")
    if problems:
        listed = "\n".join(f"  - {problem}" for problem in problems)
        raise RequestError(f"No submission to {board.title} can be written:\n{listed}")
    return contents


def _origin(file: BoardFile, answers: Answers, content: bytes) -> FileOrigin:
    return FileOrigin(
        file=file.name,
        task=file.task,
        split=file.split,
        rows=len(answers.values),
        official_rows=file.rows,
        fit=answers.fit,
        method=answers.method,
        backbone=answers.backbone,
        limit_train=answers.limit_train,
        limit_dev=answers.limit_dev,
        dev=dict(answers.dev),
        filled=answers.filled,
        sha256=hashlib.sha256(content).hexdigest(),
    )
