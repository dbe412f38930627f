"""Checks submissions, whoever wrote them: archives, folders and single files. Detects the board of a submission."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING

from benchrunner import RequestError, either, quoted, some_names
from benchrunner.results import predicting
from benchrunner_submit.board_file import BoardFile, Pair
from benchrunner_submit.leaderboard import Leaderboard
from benchrunner_submit.submission_files.archives import Entry, Unreadable, is_single, opened
from benchrunner_submit.submission_files.manifests import Manifest, archive_digest

if TYPE_CHECKING:
    import pyarrow as pa

MAX_ROWS = 1_000_000
"""Largest number of rows that a manifest may give a file, unless its official number is larger."""


def find_faults(
    board: Leaderboard,
    path: Path,
    *,
    manifest: Manifest | None = None,
    tables: Mapping[Pair, pa.Table] = MappingProxyType({}),
) -> list[str]:
    """List the faults of a submission, an archive, a folder or one file of it, in a sentence each.

    With a manifest, its row counts replace the official counts, the files that it names as missing are not asked for,
    and the archive must be the one that it describes.
    `tables` are the rows that the files answer, as far as they are available; `unchecked` names what needs them.
    """
    faults = list[str]()
    counts: Mapping[str, int] = {}
    if manifest is not None:
        faults += _manifest_faults(board, path, manifest)
        counts = {} if faults else manifest.counts
    known = None if faults else manifest
    if known is not None:
        board = replace(board, files=tuple(file for file in board.files if file.name not in known.missing))
    try:
        with opened(path) as entries:
            assigned, faults_of_names = _assigned(board, path, entries)
            faults += faults_of_names
            for file in board.files:
                if file.name in assigned:
                    rows = counts.get(file.name, file.rows)
                    table = file.rows_to_compare(tables.get(file.pair))
                    faults += _content_faults(file, assigned[file.name], rows, table)
    except Unreadable as reason:
        faults.append(f"{path.name} {reason}.")
    return faults


def find_remarks(board: Leaderboard, path: Path, manifest: Manifest | None) -> list[str]:
    """Say what makes a submission without faults doubtful: what its manifest tells, and files that answer alike."""
    from benchrunner.results import comparison

    files = list[str]()
    constant = list[str]()
    every = "every"
    with opened(path) as entries:
        assigned, _ = _assigned(board, path, entries)
        for file in board.files:
            if file.name in assigned:
                files.append(file.name)
                limit = file.kind.max_bytes(max(MAX_ROWS, file.rows))
                texts = file.kind.answer_texts(assigned[file.name].read(limit))
                if predicting.flags_of(texts, None, {}, dict):
                    [(answer, rows)] = Counter(texts).most_common(1)
                    others = ""
                    if rows < len(texts):
                        every = "nearly every"
                        others = f" in {rows:,} of {len(texts):,}"
                    constant.append(f"{file.name} ({quoted(answer, 30)}{others})")
    remarks = [] if manifest is None else manifest.remarks
    if constant:
        count = f"{len(constant)} of {len(files)} files" if len(board.files) > 1 else "The file"
        verb = "has" if len(constant) == 1 else "have"
        remarks.append(f"{count} {verb} the same answer in {every} row: {some_names(constant, 3)}.")
    return list(map(comparison.coded, remarks))


def held_files(board: Leaderboard, path: Path) -> list[BoardFile]:
    """Return the board's files that a submission, or a single file, holds; none if it cannot be read."""
    try:
        with opened(path) as entries:
            assigned, _ = _assigned(board, path, entries)
    except Unreadable:  # `find_faults` reports the reason
        return []
    return [file for file in board.files if file.name in assigned]


def unchecked(board: Leaderboard, path: Path, *, tables: Mapping[Pair, pa.Table] = MappingProxyType({})) -> list[str]:
    """Name what `find_faults` could not check, in a sentence each."""
    files = held_files(board, path)
    sentences = _said_of_single(board, files, path.name) if is_single(path) else []
    for file in files:
        if file.kind.row_columns and file.rows_to_compare(tables.get(file.pair)) is None:
            rows = f"the rows of {file.task}, split {file.split}"
            sentences.append(f"{file.name} was checked for its form and its counts; it was not compared with {rows}.")
    return sentences


def _said_of_single(board: Leaderboard, files: list[BoardFile], name: str) -> list[str]:
    """Say what a single file lacks as a submission, if it is one of the board's several files."""
    if not files or len(board.files) == 1:
        return []
    [file] = files
    further = [other.name for other in board.files if other != file]
    sentences = [f"A whole submission holds {some_names(further, 3)} as well."]
    if file.name != name:
        sentences.insert(0, f"{quoted(name)} was checked as {file.name}; a submission holds it by this name.")
    return sentences


def detect(boards: Iterable[Leaderboard], path: Path) -> Leaderboard:
    """Find the board that a submission is for by the names of its files, else by its own name.

    Raises a `RequestError` if no board or several boards fit.
    """
    boards = [board for board in boards if board.files]
    names = _names_inside(path)
    shared: dict[str, int] = {}
    for board in boards:
        wanted = {_fold(file.name) for file in board.files}
        shared[board.name] = len(names & wanted)
    most = max(shared.values(), default=0)
    best = [board for board in boards if shared[board.name] == most]
    own_name = path.absolute().name
    named = [board for board in best if own_name in (board.archive.removesuffix("/"), board.name)]
    if named or most == 0:
        best = named
    if len(best) == 1:
        return best[0]
    several = " and ".join(board.name for board in best)
    reason = f"{several} fit equally well" if best else "no leaderboard has any of its files"
    known = ", ".join(sorted(shared)) or "none: see 'benchrunner doctor'"
    raise RequestError(
        f"{path}: cannot tell which leaderboard this is for: {reason}. Name it with --board. Known: {known}."
    )


def _names_inside(path: Path) -> set[str]:
    """Collect the folded names of a submission's files."""
    try:
        with opened(path) as entries:
            return {_fold(entry.name) for entry in entries if not entry.is_desktop_file}
    except Unreadable:  # `find_faults` reports the reason if the submission's own name tells the board
        return set()


def _manifest_faults(board: Leaderboard, path: Path, manifest: Manifest) -> list[str]:
    if manifest.board != board.name:
        return [f"The manifest describes an archive for {manifest.board}, not for {board.name}."]
    official = {file.name: file.rows for file in board.files}
    for name, rows in manifest.counts.items():
        most = max(MAX_ROWS, official.get(name, 0))
        if rows > most:
            return [f"The manifest says that {name} has {rows:,} rows, which cannot be: the most is {most:,}."]
    if path.exists() and archive_digest(path) != manifest.archive_sha256:
        return [f"{path.name} has changed since its manifest was written; write it again."]
    return []


def _content_faults(file: BoardFile, entry: Entry, rows: int, table: pa.Table | None) -> list[str]:
    try:
        content = entry.read(file.kind.max_bytes(rows))
    except Unreadable as reason:
        return [f"{file.name} {reason}."]
    return file.kind.check(file.name, content, rows, file.other_rows, table)


Assigned = tuple[dict[str, Entry], list[str]]
"""The entry for each name of a board's file, and the faults of names and places."""


def _assigned(board: Leaderboard, path: Path, entries: list[Entry]) -> Assigned:
    """Assign the entries of a submission to the board's files: a single file by its name, suffix and content."""
    if not is_single(path):
        return _assign(board, path.name, entries)
    [entry] = entries
    file = _file_of(board, entry)
    if file is not None:
        return {file.name: entry}, []
    names = either([file.name for file in board.files])
    reason = "neither its name nor its content tells which file this is"
    return {}, [f"{quoted(entry.name)}: {reason}; call it {names}."]


def _file_of(board: Leaderboard, entry: Entry) -> BoardFile | None:
    """Find the board's file that a single file is: by its name, its suffix, or as what it has the fewest faults."""
    named = [file for file in board.files if _fold(file.name) == _fold(entry.name)]
    suffix = PurePath(entry.name).suffix.lower()
    alike = [file for file in board.files if PurePath(file.name).suffix.lower() == suffix]
    candidates = named or alike or board.files
    if len(candidates) == 1:
        return candidates[0]
    faults = [len(_content_faults(file, entry, file.rows, None)) for file in candidates]
    fewest = min(faults)
    return candidates[faults.index(fewest)] if faults.count(fewest) == 1 else None


def _assign(board: Leaderboard, archive: str, entries: list[Entry]) -> Assigned:
    """Assign the entries of an archive or a folder to the board's files."""
    faults = _place_faults(entries)
    board_names = [file.name for file in board.files]
    assigned = dict[str, Entry]()
    counts = Counter[str]()
    others = list[Entry]()
    for entry in entries:
        if entry.is_desktop_file:
            continue
        if entry.is_folder or entry.name not in board_names:
            others.append(entry)
        else:
            assigned.setdefault(entry.name, entry)
            counts[entry.name] += 1
    for name, count in counts.items():
        if count > 1:
            faults.append(f"{name} is in the archive {count} times; it must be there once.")
    similar = {_fold(name): name for name in board_names if name not in assigned}
    extra = list[Entry]()
    for entry in others:
        meant = None if entry.is_folder else similar.pop(_fold(entry.name), None)
        if meant is None:
            extra.append(entry)
        else:
            assigned[meant] = entry
            faults.append(f"{quoted(entry.name)} must be called exactly {meant}; it is checked as that file.")
    present = {*assigned, *(entry.name for entry in extra if entry.is_folder)}
    missing = [name for name in board_names if name not in present]
    if missing:
        listed = f"{missing[0]} is"
        if len(missing) > 1:
            listed = f"{', '.join(missing[:-1])} and {missing[-1]} are"
        if not assigned and not extra:
            listed = f"{archive} holds no files: {listed}"
        faults.append(f"{listed} missing; every file must be there.")
    return assigned, faults + _extra_faults(extra, board_names)


def _extra_faults(extra: list[Entry], board_names: list[str]) -> list[str]:
    """List the faults of entries that are no file of the board."""
    folders = list[str]()
    packed = list[str]()
    further = list[str]()
    for entry in extra:
        if entry.is_folder and entry.name in board_names:
            folders.append(entry.path)
        elif entry.name.lower().endswith(".zip") and not entry.is_folder:
            packed.append(entry.path)
        else:
            further.append(entry.path)
    return [
        *_listed("A folder in place of a file", folders, "put a file with this name there"),
        *_listed("An archive inside of the submission", packed, "pack its files themselves"),
        *_listed("Not files of this leaderboard", further, "servers refuse extra files"),
    ]


def _place_faults(entries: list[Entry]) -> list[str]:
    """List the faults of entries that are in a folder, or that a desktop wrote."""
    nested = list[str]()
    from_desktop = list[str]()
    for entry in entries:
        if entry.is_desktop_file:
            from_desktop.append(entry.path)
        elif entry.is_nested and not entry.is_folder:
            nested.append(entry.path)
    return [
        *_listed("Inside a folder", nested, "pack the files themselves, at the top level"),
        *_listed("Written by the desktop", from_desktop, "remove them; on macOS, pack with zip -X"),
    ]


def _listed(fault: str, paths: list[str], advice: str) -> list[str]:
    names = [quoted(path) for path in paths]
    return [f"{fault}: {some_names(names, 3)}; {advice}."] if names else []


def _fold(name: str) -> str:
    """Ignore case and punctuation of a file's name."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())
