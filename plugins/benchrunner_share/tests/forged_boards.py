"""Boards of forged folders: none stops a board, and none is accepted that says more than its plan and its answers do.

`python forged_boards.py 5000` draws 5,000 folders; `TMPDIR=/dev/shm` makes that faster.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "support"))

from board_folders import Folders, made_folders
from forging import Forger, forged, forged_folder, sealed
from judging import Files, read

from benchrunner.results import Runner
from benchrunner_share.board.building import build_board

OF_A_BOARD = 10
"""Number of forged folders of a board."""


class BoardForger:
    """Builds boards of forged folders beside honest ones: of labels, which a judge knows, and of labels and numbers."""

    def __init__(self, home: Path, forger: Forger, folders: Folders) -> None:
        self.home, self.forger, self.folders = home, forger, folders
        self.numbers = read(folders.results / "folder-1")
        self.accepted = 0

    def try_board(self, start: int) -> list[str]:
        """Build a board of forged folders, every second one of numbers; return a sentence for each fault."""
        seeds = range(start, start + OF_A_BOARD)
        if start // OF_A_BOARD % 2:
            made = self.folders.runner
            files = [forged(self.numbers, seed) for seed in seeds]
            return self._built(
                start, files, [self.folders.results / "folder-0", self.folders.results / "folder-2"], made
            )
        files = [self.forger.forge(seed) for seed in seeds]
        received = self.forger.received
        return self._built(start, files, [received.path], received.runner)

    def _built(self, start: int, files: Sequence[Files], honest: Sequence[Path], made: Runner) -> list[str]:
        """Build a board; honest folders must stay, and what is accepted of the others must be true."""
        results = self.home / "results"
        shutil.rmtree(results, ignore_errors=True)
        for number, path in enumerate(honest):
            shutil.copytree(path, results / f"honest-{number}")
        for number, of_folder in enumerate(files):
            for name, content in sealed(of_folder).items():
                path = results / f"forged-{number}" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        try:
            built = build_board(results, self.home / "site", made.plugins, made.workspace)
        except Exception:
            return [f"seeds from {start}: a board is stopped\n{traceback.format_exc()}"]
        refused = {folder.name: folder.reason for folder in built.refused}
        faults = [f"seeds from {start}: {name} is refused: {refused[name]}" for name in refused if "honest" in name]
        for number, of_folder in enumerate(files):
            name = f"forged-{number}"
            if "no page can be made of it" in refused.get(name, ""):
                faults.append(f"seed {start + number}: is accepted, and then {refused[name]}")
            if name not in refused:
                self.accepted += 1
                if made is self.forger.received.runner and not self.forger.judge.is_honest(of_folder):
                    faults.append(f"seed {start + number}: a lie is accepted")
        return faults


def main(count: int, start: int = 0) -> int:
    """Try some folders, ten in a board, and print the faults; exit code 1 if there is one."""
    began = time.monotonic()
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        labels = Forger(forged_folder(home / "made"), home / "received")
        forger = BoardForger(home, labels, made_folders(home / "numbers"))
        for first in range(start, start + count, OF_A_BOARD):
            for fault in forger.try_board(first):
                faults.append(fault)
                print(fault, flush=True)
            if first % 500 == 490:
                print(
                    f"{first + OF_A_BOARD - start:,} folders, {forger.accepted:,} accepted, {len(faults)} faults",
                    flush=True,
                )
    seconds = time.monotonic() - began
    print(f"{count:,} folders in {seconds:,.0f} s: {forger.accepted:,} accepted, {len(faults)} faults")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
