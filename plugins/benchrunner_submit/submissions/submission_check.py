"""Check a submission by any author."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from benchrunner import DataError, DataNotFound, RequestError, Rows, Settings, Task, UnknownName, Workspace
from benchrunner.results import Plugins
from benchrunner_submit.board_file import Pair
from benchrunner_submit.leaderboard import Leaderboard
from benchrunner_submit.submission_files.checking import detect, findings, held_files
from benchrunner_submit.submission_files.manifests import read_manifest

if TYPE_CHECKING:
    import pyarrow as pa


@final
@dataclass(frozen=True)
class CheckedSubmission:
    """What `check_submission` found."""

    board: Leaderboard
    path: Path
    faults: tuple[str, ...]
    """Every fault; empty if the submission is valid."""
    unchecked: tuple[str, ...]
    """What could not be checked, a sentence each."""
    not_found: tuple[str, ...]
    """Rows to compare with that `data` does not have, a sentence each."""
    official_counts: bool
    """False if a manifest replaced the official row counts."""
    remarks: tuple[str, ...]
    """What makes a submission doubtful beside its faults, a sentence each: files that are filled, or of one answer."""

    def as_json(self) -> dict[str, Any]:
        """Return everything that was found as JSON values."""
        return {"valid": not self.faults, **vars(self), "board": self.board.name}


def check_submission(
    path: Path,
    plugins: Plugins,
    *,
    board: Leaderboard | None = None,
    data: Path | None = None,
    gold: Path | None = None,
    counts_from_manifest: bool = False,
) -> CheckedSubmission:
    """Find every fault of an archive, a folder of its files or one of its files, whoever wrote it.

    Without `board`, the names of the files say which leaderboard it is for. Ids and words are compared with the rows in
    the data folder `data`, or in the file `gold` in the task's own layout. With `counts_from_manifest`, the manifest
    beside `path` gives the expected row counts instead of the leaderboard: for archives of demo data.
    """
    if not path.exists():
        raise RequestError(f"{path}: there is no such file or folder.")
    if data is not None and not data.is_dir():
        raise RequestError(f"--data {data}: there is no such folder.")
    board = board or detect(plugins.leaderboards.values(), path)
    board.check_takes_files()
    manifest = read_manifest(path) if counts_from_manifest else None
    held = held_files(board, path) or board.files
    pairs = tuple(dict.fromkeys(file.pair for file in held if file.kind.row_columns))
    tables = {}
    not_found = list[str]()
    if gold is not None:
        tables = _gold_table(board, pairs, gold, plugins)
    elif data is not None:
        tables, not_found = _found_tables(pairs, data, plugins)
    found = findings(board, path, manifest=manifest, tables=tables)
    return CheckedSubmission(
        board,
        path,
        faults=tuple(found.faults),
        unchecked=tuple(found.unchecked),
        not_found=tuple(not_found),
        official_counts=manifest is None or manifest.has_official_counts,
        remarks=tuple(found.remarks),
    )


def _gold_table(board: Leaderboard, pairs: Sequence[Pair], gold: Path, plugins: Plugins) -> dict[Pair, pa.Table]:
    """Read the rows that the board's files are compared with from the user's file."""
    if not pairs:
        raise RequestError(f"The files of {board.name} name no rows to compare: leave --gold out.")
    if len(pairs) > 1:
        raise RequestError(
            f"--gold names the rows of one split, and {board.name} compares answers to {len(pairs)} splits: give a "
            "data folder with --data DIR."
        )
    name, split = pairs[0]
    return {pairs[0]: rows_of(plugins.tasks.find(name), split, gold, _offline(None)).table}


def rows_of(task: Task, split: str, path: Path, workspace: Workspace) -> Rows:
    """Read the rows of a split from a file in the task's own layout, wherever the file lies."""
    if not path.is_file():
        reason = "this is a folder, not a file" if path.is_dir() else "there is no such file"
        raise RequestError(f"--gold {path}: {reason}.")
    moved = (source.at(path) for source in task.splits[split].sources)
    source = next((source for source in moved if source is not None), None)
    if source is None:
        raise RequestError(f"{task.name} has no file layout for its split {split}; leave --gold out.")
    rows = source.read(workspace)
    if not len(rows):
        raise DataError(f"{path}: no rows.")
    return task.checked(rows, workspace, labelled=task.splits[split].role != "test")


def _found_tables(pairs: Iterable[Pair], data: Path, plugins: Plugins) -> tuple[dict[Pair, pa.Table], list[str]]:
    """Read the rows below a data folder, never from the hub; return with the rows why others are not there."""
    tables, reasons = {}, []
    for name, split in pairs:
        try:
            tables[name, split] = plugins.tasks.find(name).load(split, _offline(data)).table
        except (DataNotFound, UnknownName) as reason:
            reasons.append(str(reason))
    return tables, reasons


def _offline(data: Path | None) -> Workspace:
    return Workspace(runs=Path(), cache=Path(), data=data, settings=Settings(offline=True))
