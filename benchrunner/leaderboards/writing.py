"""Submissions to any leaderboard: written whole or not at all, with a manifest beside them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchrunner.errors import PluginError, RequestError
from benchrunner.files import write_atomically, write_folder_atomically, write_json
from benchrunner.leaderboards import archives
from benchrunner.leaderboards.file_kind import Answers
from benchrunner.leaderboards.leaderboard import BoardFile, Leaderboard, Pair
from benchrunner.leaderboards.manifests import FileOrigin, Manifest, manifest_path


def write_answers(
    board: Leaderboard,
    answers: Mapping[Pair, Answers],
    path: Path,
    *,
    counts: Mapping[str, int] | None = None,
) -> Path:
    """Write the archive or folder that a board takes, and its manifest; where it was written.

    A `RequestError` lists everything that stands against it. `counts` replaces the official row counts of the files
    that it names, for demo data; the manifest says so, and a check goes by the official counts unless it is given that
    manifest.
    """
    path = _target(board, path)
    members = _rendered(board, answers, counts or {})
    place, fill = (write_folder_atomically, archives.lay) if board.is_folder else (write_atomically, archives.pack)
    try:
        manifest_path(path).unlink(missing_ok=True)  # no manifest may ever lie beside an archive that is not its own
        place(path, lambda part: fill(members, part))
        origins = tuple(_origin(file, answers[file.pair], members[file.name]) for file in board.files)
        manifest = Manifest(board.name, archives.digest(path), origins)
        write_json(manifest_path(path), manifest.as_json())
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror}.") from None
    return path


def _target(board: Leaderboard, path: Path) -> Path:
    """Where to write: the path, or what the board's own name makes of a folder."""
    if path.is_dir() and not (board.is_folder and _is_earlier(board, path)):
        path = path / board.archive.removesuffix("/")
    if board.is_folder and path.exists() and not _is_earlier(board, path):
        raise RequestError(f"{path} is there and is no earlier submission to {board.title}: name another place.")
    return path


def _is_earlier(board: Leaderboard, folder: Path) -> bool:
    """Whether a folder holds a submission and nothing else, so that another one may take its place."""
    names = {one.name for one in folder.iterdir()} if folder.is_dir() else set()
    return bool(names) and names <= {file.name for file in board.files}


def _rendered(board: Leaderboard, answers: Mapping[Pair, Answers], counts: Mapping[str, int]) -> dict[str, bytes]:
    """Every file's content, or a `RequestError` that lists all that is missing, miscounted or cannot be written."""
    if strange := set(counts) - {file.name for file in board.files}:
        raise RequestError(f"{board.title} has no file {', '.join(sorted(strange))}, for which a row count was given.")
    members, problems = dict[str, bytes](), list[str]()
    for file in board.files:
        try:
            if file.pair not in answers:
                raise RequestError(f"{file.name}: no answers to {file.task}, split {file.split}.")
            members[file.name] = file_content(file, answers[file.pair], counts.get(file.name, file.rows))
        except RequestError as reason:
            problems += str(reason).split("\n")
    if problems:
        listed = "\n".join(f"  - {one}" for one in problems)
        raise RequestError(f"No submission to {board.title} can be written:\n{listed}")
    return members


def file_content(file: BoardFile, given: Answers, rows: int) -> bytes:
    """One file with the answers to so many rows, or a `RequestError`."""
    given = _taken(file, given)
    if len(given.values) != rows:
        found = f"{len(given.values):,} answers to {file.task}, split {file.split}"
        raise RequestError(f"{file.name}: {found}; expected {rows:,}.")
    table = file.comparable(given.table)
    if file.kind.compares and (table is None or table.num_rows != rows):
        needed = ", ".join(file.kind.compares)
        raise RequestError(f"{file.name}: the rows of {file.task}, split {file.split}, are needed, with {needed}.")
    written = file.kind.write(file.name, given)
    # A kind that is at odds with itself must cost nobody an upload.
    if faults := file.kind.check(file.name, written, rows, table=table):
        raise PluginError(f"{file.name} was written and does not pass its own check: {faults[0]}")
    return written


def _taken(file: BoardFile, given: Answers) -> Answers:
    """The answers with what the file holds of them as values."""
    if not file.extra_figure:
        return given
    if file.extra_figure not in given.extra_figures:
        known = ", ".join(given.extra_figures) or "nothing"
        raise RequestError(
            f"{file.name}: it holds '{file.extra_figure}'; beside the answers to {file.task} there is {known}."
        )
    return replace(given, values=given.extra_figures[file.extra_figure])


def _origin(file: BoardFile, given: Answers, content: bytes) -> FileOrigin:
    return FileOrigin(
        file=file.name,
        task=file.task,
        split=file.split,
        rows=len(given.values),
        official_rows=file.rows,
        fit=given.fit,
        method=given.method,
        filled=given.filled,
        sha256=_sha256(content),
    )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
