"""Builds the site of a board: verifies the folders, joins their systems, and writes all files of the site at once."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from benchrunner import BenchrunnerError, RequestError, Workspace, quoted
from benchrunner.engine import write_folder_atomically
from benchrunner.results import Plugins, output_places
from benchrunner_share.board.board import Board
from benchrunner_share.board.joining import by_rank, check_splits, entries_of, joined, ranked_splits, tasks_of
from benchrunner_share.board.receiving import Accepted, Refused, received
from benchrunner_share.board.site import MARK, site_files
from benchrunner_share.private_texts import Private
from benchrunner_share.verifying.data_checks import own_runners


@final
@dataclass(frozen=True)
class Wishes:
    """What the owner of a board asks for."""

    title: str = "Board"
    tasks: tuple[str, ...] = ()
    """Names of the tasks of the board; empty for those of more than half of the folders."""
    splits: tuple[str, ...] = ()
    """Names of the test splits by which systems are ranked, in the tasks that have them; empty ranks by dev."""
    against: str | None = None
    """The system that all others are compared with; None compares every two systems."""
    with_rows: bool = False
    """Whether texts and gold answers of the data are shown."""


@final
@dataclass(frozen=True)
class Built:
    """A site that was written."""

    site: Path
    systems: int
    tasks: int
    accepted: int
    """Number of verified folders."""
    refused: tuple[Refused, ...]
    files: int


def build_board(
    results: Path, site: Path, plugins: Plugins, workspace: Workspace, *, wishes: Wishes | None = None
) -> Built:
    """Verify every shared folder in `results` with the data of a workspace, and write the site of a board to `site`.

    Folders in which something differs, or cannot be computed here, are refused. Raises a `RequestError` if none is
    left. An older site is replaced as a whole.
    """
    wishes = wishes or Wishes()
    _check_site(site)
    private = Private(workspace)
    with own_runners(plugins, workspace, wishes.tasks) as runners:
        folders = list(received(results, runners, private))
        installed = list(plugins.tasks)
        if all(isinstance(folder, Refused) for folder in folders):
            raise RequestError(_nothing_left(results, folders))
        try:
            return _written(site, _board(folders, wishes, installed), private)
        except BenchrunnerError:
            raise
        except Exception:  # whatever a folder causes, it alone is refused
            folders = list(_sound(folders, wishes, installed, private))
            return _written(site, _board(folders, wishes, installed), private)


def _written(site: Path, board: Board, private: Private) -> Built:
    """Write the site of a board."""
    count = 0

    def write(part: Path) -> None:
        nonlocal count
        for name, text in site_files(board, private):
            path = part / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", errors="replace"))
            count += 1

    write_folder_atomically(site, write)
    return Built(site, len(board.entries), len(board.tasks), len(board.folders), board.refused, count)


def _sound(
    folders: Iterable[Accepted | Refused], wishes: Wishes, installed: Sequence[str], private: Private
) -> Iterator[Accepted | Refused]:
    """Refuse each folder whose own board fails, or with which the board of the folders before it fails."""
    sound = list[Accepted | Refused]()
    own = replace(wishes, tasks=(), splits=(), against=None)
    for folder in folders:
        try:
            for together, asked in (([folder], own), ([*sound, folder], wishes)):
                with contextlib.suppress(RequestError):  # wishes that only more folders fulfil are no fault
                    deque(site_files(_board(together, asked, installed), private), maxlen=0)
            sound.append(folder)
            yield folder
        except Exception as error:
            yield Refused(folder.name, f"no page can be made of it: {quoted(f'{type(error).__name__}: {error}', 200)}.")


def _board(folders: Iterable[Accepted | Refused], wishes: Wishes, installed: Sequence[str]) -> Board:
    """Join the systems of all folders; those without scores of every task are not ranked."""
    accepted = [folder for folder in folders if isinstance(folder, Accepted)]
    refused = tuple(folder for folder in folders if isinstance(folder, Refused))
    entries = entries_of(accepted)
    tasks = tasks_of(entries, wishes.tasks, installed)
    check_splits(tasks, wishes.splits)
    names = {task.name for task in tasks}
    whole = [entry for entry in entries if entry.has_scores(tasks, wishes.splits)]
    part = [entry for entry in entries if entry not in whole and names & entry.tasks.keys()]
    if not whole:
        places = [f"{task.name} ({', '.join(ranked_splits(task, wishes.splits))})" for task in tasks]
        raise RequestError(f"No system has scores of all of {', '.join(places)}: name fewer with --tasks.")
    return Board(
        title=wishes.title,
        with_rows=wishes.with_rows,
        tasks=tasks,
        entries=(*whole, *part),
        result=by_rank(joined(whole, tasks, splits=wishes.splits, against=wishes.against)),
        partial=by_rank(joined(part, tasks, ranked=False)) if part else None,
        folders=tuple(accepted),
        refused=refused,
    )


def _nothing_left(results: Path, folders: Sequence[Accepted | Refused]) -> str:
    """Say why there is no board."""
    refused = [folder for folder in folders if isinstance(folder, Refused)]
    if not refused:
        return f"{results} holds no folders. Put folders there that 'benchrunner share' wrote."
    reasons = "\n".join(f"  - {folder.name}: {folder.reason}" for folder in refused[:10])
    return f"{results}: every folder was refused, so that there is nothing to show:\n{reasons}"


def _check_site(site: Path) -> None:
    """Raise a `RequestError` if the folder cannot be written, or holds other files than those of an older site."""
    output_places.check_place(site, is_file=False)
    if site.is_dir() and any(site.iterdir()) and not (site / MARK).is_file():
        raise RequestError(f"--out {site}: the folder has other files than those of a board. Name a new folder.")
