"""Submissions checked down to the last line, whoever wrote them: archives, folders and single files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner.errors import RequestError
from benchrunner.file_faults import either, quoted, some
from benchrunner.leaderboards import archives
from benchrunner.leaderboards.archives import Entry, Unreadable
from benchrunner.leaderboards.leaderboard import BoardFile, Leaderboard, Pair
from benchrunner.leaderboards.manifests import Manifest

if TYPE_CHECKING:
    import pyarrow as pa


def find_faults(
    board: Leaderboard,
    path: Path,
    *,
    manifest: Manifest | None = None,
    tables: Mapping[Pair, pa.Table] | None = None,
) -> list[str]:
    """Everything that is wrong with an archive, a folder or one file, whoever wrote it; empty where nothing is.

    With a manifest, its row counts stand in for the official ones, and the archive must be the one it was written for.
    `tables` are the rows that were asked, as far as they are at hand: `unchecked` says what goes unseen without them.
    """
    counts = manifest.counts if manifest is not None else {}
    problems = _against_manifest(board, path, manifest) if manifest is not None else []
    try:
        with archives.opened(path) as entries:
            found, misplaced = (_single if archives.is_single(path) else _assigned)(board, entries)
            problems += misplaced
            for file in board.files:
                if file.name in found:
                    rows, table = counts.get(file.name, file.rows), file.comparable((tables or {}).get(file.pair))
                    problems += _content_problems(file, found[file.name], rows, table)
    except Unreadable as reason:
        problems.append(f"{path.name} {reason}.")
    return problems


def unchecked(board: Leaderboard, path: Path, *, tables: Mapping[Pair, pa.Table] | None = None) -> list[str]:
    """Name what `find_faults` could not check, in a sentence each."""
    files, sentences = list(board.files), list[str]()
    if archives.is_single(path):
        files = _meant(board, path.name)
        others = [file.name for file in board.files if file not in files]
        sentences += [f"A whole submission holds {' and '.join(others)} as well."] * bool(others)
    for file in files:
        if file.kind.compares and file.comparable((tables or {}).get(file.pair)) is None:
            rows = f"the rows of {file.task}, split {file.split}"
            sentences.append(f"{file.name} was checked for its form and its counts; it was not compared with {rows}.")
    return sentences


def _against_manifest(board: Leaderboard, path: Path, manifest: Manifest) -> list[str]:
    if manifest.board != board.name:
        return [f"The manifest is of an archive for {manifest.board}, not for {board.name}."]
    if path.exists() and archives.digest(path) != manifest.archive_sha256:
        return [f"{path.name} has changed since its manifest was written; write it again."]
    return []


def _content_problems(file: BoardFile, entry: Entry, rows: int, table: pa.Table | None) -> list[str]:
    try:
        content = entry.read(file.kind.bound(rows))
    except Unreadable as reason:
        return [f"{file.name} {reason}."]
    return file.kind.check(file.name, content, rows, file.other_rows, table)


def _single(board: Leaderboard, entries: list[Entry]) -> tuple[dict[str, Entry], list[str]]:
    """The same for one file alone."""
    (entry,) = entries
    meant = _meant(board, entry.name)
    if not meant:
        names = either([file.name for file in board.files])
        return {}, [f"{quoted(entry.name)}: its name does not tell which file this is; call it {names}."]
    name = meant[0].name
    return {name: entry}, [] if len(board.files) == 1 or name == entry.name else [_misnamed(entry, name)]


def _meant(board: Leaderboard, name: str) -> list[BoardFile]:
    """Which file a single one is: the board's only one, else the one whose name it has, by and large."""
    return [file for file in board.files if len(board.files) == 1 or _fold(file.name) == _fold(name)]


def _misnamed(entry: Entry, name: str) -> str:
    return f"{quoted(entry.name)} must be called {name}, to the letter; it is read as that here."


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
            extra.append(quoted(entry.path))
        else:
            found[meant] = entry
            problems.append(_misnamed(entry, meant))
    missing = [f"{file.name} is missing; every file must be there." for file in board.files if file.name not in found]
    return found, problems + missing + _listed("Not of this leaderboard", extra, "servers refuse extra files")


def _place_problems(entries: list[Entry]) -> list[str]:
    junk = [quoted(entry.path) for entry in entries if entry.is_junk]
    files = [entry for entry in entries if not entry.is_junk and not entry.is_folder]
    nested = [quoted(entry.path) for entry in files if entry.is_nested]
    return [
        *_listed("Inside a folder", nested, "pack the files themselves, at the top level"),
        *_listed("Left there by the desktop", junk, "remove them, on macOS by packing with zip -X"),
    ]


def _listed(fault: str, names: list[str], advice: str) -> list[str]:
    return [f"{fault}: {some(names)}; {advice}."] if names else []


def _fold(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def detect(boards: Iterable[Leaderboard], path: Path) -> Leaderboard:
    """The board that an archive is for, told by its files' names, or failing that by its own name."""
    boards = list(boards)
    try:
        with archives.opened(path) as entries:
            names = {_fold(entry.name) for entry in entries if not entry.is_junk}
    except Unreadable:
        names = set()  # what ails it is reported by `find_faults` if the archive's own name tells the board
    shared = {board.name: len(names & {_fold(file.name) for file in board.files}) for board in boards}
    best = [board for board in boards if shared[board.name] == max(shared.values())]
    best = [board for board in best if path.absolute().name in (board.archive.removesuffix("/"), board.name)] or [
        board for board in best if shared[board.name]
    ]
    if len(best) == 1:
        return best[0]
    alike = " and ".join(board.name for board in best)
    why = f"{alike} fit alike" if best else "none of its files is known to a leaderboard"
    known = ", ".join(sorted(board.name for board in boards)) or "none: see 'benchrunner doctor'"
    raise RequestError(f"{path}: cannot tell which leaderboard this is for: {why}. Name the board. Known: {known}.")
