"""Checks submissions, whoever wrote them: archives, folders and single files. Detects the board of a submission."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, final

from benchrunner import Faults, RequestError, quoted, some_names
from benchrunner.engine import problem
from benchrunner.results import comparison
from benchrunner_submit.board_file import BoardFile, Pair
from benchrunner_submit.file_kinds.file_kind import ExpectedRows
from benchrunner_submit.file_kinds.spellings import either
from benchrunner_submit.leaderboard import Leaderboard
from benchrunner_submit.submission_files.archives import Entry, Unreadable, entries_of, is_single
from benchrunner_submit.submission_files.manifests import Manifest, archive_digest, find_manifest

if TYPE_CHECKING:
    import pyarrow as pa

MAX_ROWS = 1_000_000
"""Largest number of rows that a manifest may give a file, unless its official number is larger."""


@final
@dataclass(frozen=True)
class Findings:
    """What was found in a submission, in a sentence each."""

    faults: Sequence[str]
    """Every fault; empty if the leaderboard would accept the submission."""
    remarks: Sequence[str]
    """What makes a submission doubtful beside its faults: what its manifest tells, and files that answer alike."""
    unchecked: Sequence[str]
    """What could not be checked."""


def findings(
    board: Leaderboard,
    path: Path,
    *,
    manifest: Manifest | None = None,
    tables: Mapping[Pair, pa.Table] = MappingProxyType({}),
) -> Findings:
    """Find what is wrong or doubtful about a submission, an archive, a folder or one file of it.

    With a manifest, its row counts replace the official counts, the files that it names as missing are not asked for,
    and the archive must be the one that it describes.
    `tables` are the rows that the files answer, as far as they are available.
    """
    faults = [] if manifest is None else _manifest_faults(board, path, manifest)
    counts: Mapping[str, int] = {}
    if manifest is not None and not faults:
        counts = manifest.counts
        board = replace(board, files=tuple(file for file in board.files if file.name not in manifest.missing))
    assigned, faults_of_names = _assigned(board, path)
    faults += faults_of_names
    constant = list[str]()
    every = "every"
    for file in board.files:
        if file.name in assigned:
            rows = counts.get(file.name, file.rows)
            texts, faults_of_file = _read(file, assigned[file.name], rows, tables.get(file.pair))
            faults += faults_of_file
            if problem.are_equal(texts):
                [(answer, count)] = Counter(texts).most_common(1)
                others = ""
                if count < len(texts):
                    every = "every or nearly every"
                    others = f" in {count:,} of {len(texts):,}"
                constant.append(f"{file.name} ({quoted(answer, 30)}{others})")
    unchecked = _unchecked(board, path, [file for file in board.files if file.name in assigned], tables)
    described = find_manifest(path)
    remarks = [] if described is None else described.remarks
    if constant:
        who = f"{len(constant)} of {len(assigned)} files" if len(board.files) > 1 else "The file"
        verb = "has" if len(constant) == 1 else "have"
        remarks.append(f"{who} {verb} the same answer in {every} row: {some_names(constant, 3)}.")
    return Findings(faults, list(map(comparison.coded, remarks)), unchecked)


def held_files(board: Leaderboard, path: Path) -> list[BoardFile]:
    """Return the board's files that a submission, or a single file, holds; none if it cannot be read."""
    assigned, _ = _assigned(board, path)
    return [file for file in board.files if file.name in assigned]


def _unchecked(
    board: Leaderboard, path: Path, files: Sequence[BoardFile], tables: Mapping[Pair, pa.Table]
) -> list[str]:
    """Name what of the files could not be checked; if a single file is one of several, say what it lacks."""
    sentences = list[str]()
    if is_single(path) and files and len(board.files) > 1:
        [held] = files
        if held.name != path.name:
            sentences.append(f"{quoted(path.name)} was checked as {held.name}; a submission holds it by this name.")
        further = [file.name for file in board.files if file != held]
        sentences.append(f"A whole submission holds {some_names(further, 3)} as well.")
    for file in files:
        if file.kind.row_columns and file.rows_to_compare(tables.get(file.pair)) is None:
            rows = f"the rows of {file.task}, split {file.split}"
            sentences.append(f"{file.name} was checked for its form and its counts; it was not compared with {rows}.")
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
        return {_fold(entry.name) for entry in entries_of(path)}
    except Unreadable:  # `findings` has the reason if the submission's own name tells the board
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


def _read(file: BoardFile, entry: Entry, rows: int, table: pa.Table | None) -> tuple[Sequence[str], list[str]]:
    """Read the answers of a file as texts, and its faults."""
    try:
        content = entry.read(file.kind.max_bytes(rows))
    except Unreadable as reason:
        return (), [f"{file.name} {reason}."]
    faults = Faults(file.name, file.kind.unit)
    expected = ExpectedRows(rows, file.other_rows, file.rows_to_compare(table))
    return file.kind.answer_texts(content, expected, faults), faults.sentences()


Assigned = tuple[dict[str, Entry], list[str]]
"""The entry for each name of a board's file, and the faults of names and places."""


def _assigned(board: Leaderboard, path: Path) -> Assigned:
    """Assign the files of a submission to the board's files: a single file by its name, suffix and content."""
    try:
        entries = entries_of(path)
    except Unreadable as reason:
        return {}, [f"{path.name} {reason}."]
    if not is_single(path):
        return _assign(board, path.name, entries)
    [entry] = entries
    file = _file_of(board, entry)
    if file is not None:
        return {file.name: entry}, []
    names = either(file.name for file in board.files)
    fault = "neither its name nor its content tells which file this is"
    return {}, [f"{quoted(entry.name)}: {fault}; call it {names}."]


def _file_of(board: Leaderboard, entry: Entry) -> BoardFile | None:
    """Find the board's file that a single file is: by its name, its suffix, or as what it has the fewest faults."""
    named = [file for file in board.files if _fold(file.name) == _fold(entry.name)]
    suffix = PurePath(entry.name).suffix.lower()
    alike = [file for file in board.files if PurePath(file.name).suffix.lower() == suffix]
    candidates = named or alike or board.files
    if len(candidates) == 1:
        return candidates[0]
    counts = list[int]()
    for file in candidates:
        _, faults = _read(file, entry, file.rows, None)
        counts.append(len(faults))
    fewest = min(counts)
    return candidates[counts.index(fewest)] if counts.count(fewest) == 1 else None


def _assign(board: Leaderboard, archive: str, entries: list[Entry]) -> Assigned:
    """Assign the entries of an archive or a folder to the board's files."""
    names = [file.name for file in board.files]
    assigned = dict[str, Entry]()
    repeated = list[str]()
    faults = list[str]()
    for entry in entries:
        if entry.name in assigned:
            repeated.append(entry.path)
        elif entry.name in names:
            assigned[entry.name] = entry
    similar = {_fold(name): name for name in names if name not in assigned}
    further = list[str]()
    for entry in entries:
        if entry.name not in names:
            meant = similar.pop(_fold(entry.name), None)
            if meant is None:
                further.append(entry.path)
            else:
                assigned[meant] = entry
                faults.append(f"{quoted(entry.name)} must be called exactly {meant}; it is checked as that file.")
    nested = [entry.path for entry in assigned.values() if entry.name != entry.path]
    missing = [name for name in names if name not in assigned]
    if missing:
        what = f"{some_names(missing)} {'is' if len(missing) == 1 else 'are'} missing; every file must be there."
        faults.append(what if entries else f"{archive} holds no files: {what}")
    places = {
        "Inside a folder": (nested, "pack the files themselves, at the top level"),
        "In the archive already": (repeated, "each file must be there once"),
        "Not files of this leaderboard": (
            further,
            "servers refuse extra files (zip -D -X avoids most)",
        ),
    }
    for fault, (paths, advice) in places.items():
        if paths:
            faults.append(f"{fault}: {some_names(map(quoted, paths), 3)}; {advice}.")
    return assigned, faults


def _fold(name: str) -> str:
    """Ignore case and punctuation of a file's name, but for dots: macOS writes ._NAME beside NAME."""
    return re.sub(r"[^a-z0-9.]", "", name.casefold())
