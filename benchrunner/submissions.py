"""Submissions to any leaderboard: written whole or not at all, with a manifest beside them; checked, ours or not."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from benchrunner import archives
from benchrunner.archives import Entry, Unreadable
from benchrunner.errors import PluginError, RequestError
from benchrunner.faults import SHOWN, shown
from benchrunner.leaderboards import BoardFile, Leaderboard
from benchrunner.manifests import FileOrigin, Manifest, manifest_path
from benchrunner.records import write_atomically, write_json


@final
@dataclass(frozen=True)
class Answers:
    """The answers to one split, in the order of its rows, and where they come from."""

    values: Sequence[Any]
    """As the task's problem decodes them: labels or numbers of the task, not of the board."""
    fit: str = ""
    """The identity of the fit that gave them."""
    method: str = ""
    filled: str = ""
    """Why a stand-in answers instead of a fit that was asked for; empty where none does."""


def write(
    board: Leaderboard,
    answers: Mapping[tuple[str, str], Answers],
    path: Path,
    *,
    counts: Mapping[str, int] | None = None,
) -> Path:
    """Write the archive that a board takes, and its manifest; a `RequestError` lists everything that stands against it.

    `counts` replaces the official row counts of the files it names, for demo data; the manifest says so, and `check`
    goes by the official counts unless it is given that manifest.
    """
    if path.is_dir():
        path = path / board.archive
    members = _rendered(board, answers, counts or {})
    try:
        manifest_path(path).unlink(missing_ok=True)  # no manifest may ever lie beside an archive that is not its own
        write_atomically(path, lambda part: archives.pack(members, part))
        origins = tuple(_origin(file, answers[file.task, file.split], members[file.name]) for file in board.files)
        manifest = Manifest(board.name, _sha256(path.read_bytes()), origins)
        write_json(manifest_path(path), manifest.as_json())
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror}.") from None
    return path


def _rendered(
    board: Leaderboard, answers: Mapping[tuple[str, str], Answers], counts: Mapping[str, int]
) -> dict[str, bytes]:
    """Every file's content, or a `RequestError` that lists all that is missing, miscounted or cannot be written."""
    if strange := set(counts) - {file.name for file in board.files}:
        raise RequestError(f"{board.title} has no file {', '.join(sorted(strange))}, for which a row count was given.")
    members, problems = dict[str, bytes](), list[str]()
    for file in board.files:
        try:
            given = answers.get((file.task, file.split))
            members[file.name] = _content(board, file, given, counts.get(file.name, file.rows))
        except RequestError as reason:
            problems += str(reason).splitlines()
    if problems:
        listed = "\n".join(f"  - {one}" for one in problems)
        raise RequestError(f"No submission to {board.title} can be written:\n{listed}")
    return members


def _content(board: Leaderboard, file: BoardFile, given: Answers | None, rows: int) -> bytes:
    if given is None:
        raise RequestError(f"{file.name}: no answers to {file.task}, split {file.split}.")
    if len(given.values) != rows:
        found = f"{len(given.values):,} answers to {file.task}, split {file.split}"
        raise RequestError(f"{file.name}: {found}; expected {rows:,}.")
    content = file.kind.write(file.name, given.values)
    if faults := file.kind.check(file.name, content, rows):  # a kind at odds with itself must cost nobody an upload
        raise PluginError(f"{board.name}: {file.name} was written and does not pass its own check: {faults[0]}")
    return content


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


def check(board: Leaderboard, path: Path, *, manifest: Manifest | None = None) -> list[str]:
    """Everything that is wrong with an archive, or a folder of its files, whoever wrote it; empty where nothing is.

    With a manifest, its row counts stand in for the official ones, and the archive must be the one it was written for.
    """
    counts = manifest.counts if manifest is not None else {}
    problems = _against_manifest(board, path, manifest) if manifest is not None else []
    try:
        with archives.opened(path) as entries:
            found, misplaced = _assigned(board, entries)
            problems += misplaced
            for file in board.files:
                if file.name in found:
                    problems += _content_problems(file, found[file.name], counts.get(file.name, file.rows))
    except Unreadable as reason:
        problems.append(f"{path.name} {reason}.")
    return problems


def _against_manifest(board: Leaderboard, path: Path, manifest: Manifest) -> list[str]:
    if manifest.board != board.name:
        return [f"The manifest is of an archive for {manifest.board}, not for {board.name}."]
    if path.is_file() and _sha256(path.read_bytes()) != manifest.archive_sha256:
        return [f"{path.name} has changed since its manifest was written; write it again."]
    return []


def _content_problems(file: BoardFile, entry: Entry, rows: int) -> list[str]:
    try:
        content = entry.read(file.kind.bound(rows))
    except Unreadable as reason:
        return [f"{file.name} {reason}."]
    return file.kind.check(file.name, content, rows, file.other_rows)


def _assigned(board: Leaderboard, entries: list[Entry]) -> tuple[dict[str, Entry], list[str]]:
    """The entry for each of the board's files, as far as one can be told, and what is wrong with names and places."""
    problems = _place_problems(entries)
    wanted = [file.name for file in board.files]
    useful = [entry for entry in entries if not entry.is_junk]
    right = [entry for entry in useful if entry.name in wanted and not entry.is_folder]
    found = {entry.name: entry for entry in reversed(right)}
    for name, count in Counter(entry.name for entry in right).items():
        if count > 1:
            problems.append(f"{name} is in the archive {count} times; it must be there once.")
    close, extra = {_fold(name): name for name in wanted if name not in found}, []
    for entry in (one for one in useful if one.is_folder or one.name not in wanted):
        meant = None if entry.is_folder else close.pop(_fold(entry.name), None)
        if meant is None:
            extra.append(shown(entry.path))
        else:
            found[meant] = entry
            problems.append(f"{shown(entry.name)} must be called {meant}, to the letter; it is read as that here.")
    missing = [f"{file.name} is missing; every file must be there." for file in board.files if file.name not in found]
    return found, problems + missing + _listed("Not of this leaderboard", extra, "servers refuse extra files")


def _place_problems(entries: list[Entry]) -> list[str]:
    junk = [shown(entry.path) for entry in entries if entry.is_junk]
    files = [entry for entry in entries if not entry.is_junk and not entry.is_folder]
    nested = [shown(entry.path) for entry in files if entry.is_nested]
    return [
        *_listed("Inside a folder", nested, "pack the files themselves, at the top level"),
        *_listed("Left there by the desktop", junk, "remove them, on macOS by packing with zip -X"),
    ]


def _listed(fault: str, names: list[str], advice: str) -> list[str]:
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return [f"{fault}: {', '.join(names[:SHOWN])}{more}; {advice}."] if names else []


def _fold(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def detect(boards: Iterable[Leaderboard], path: Path) -> Leaderboard:
    """The board that an archive is for, told by its files' names, or failing that by its own name."""
    boards = list(boards)
    try:
        with archives.opened(path) as entries:
            names = {_fold(entry.name) for entry in entries if not entry.is_junk}
    except Unreadable:
        names = set()  # what ails it is for `check` to say, where the archive's own name tells the board
    shared = {board.name: len(names & {_fold(file.name) for file in board.files}) for board in boards}
    best = [board for board in boards if shared[board.name] and shared[board.name] == max(shared.values())]
    best = best or [board for board in boards if path.name in (board.archive, board.name)]
    if len(best) == 1:
        return best[0]
    alike = " and ".join(board.name for board in best)
    why = f"{alike} fit alike" if best else "none of its files is known to a leaderboard"
    known = ", ".join(sorted(board.name for board in boards)) or "none: see 'benchrunner doctor'"
    raise RequestError(f"{path}: cannot tell which leaderboard this is for: {why}. Name the board. Known: {known}.")
