"""Commands that are killed before any change of a file: repeated, they leave the same files and nothing else."""

import functools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from inline import files
from kill_points import KillPoints

QUICK = ("--device", "cpu", "--quiet")
EAGER = ("--checkpoint-every", "0")


def data(home: Path) -> None:
    """Write the data of the inline tasks."""
    files(1, home / "data")


@functools.cache
def finished() -> Path:
    """Run a comparison once; return its folder."""
    home = Path(tempfile.mkdtemp(prefix="finished-"))
    points = KillPoints(home, ("compare", "words", "--tasks", "mood", "--name", "first", *QUICK), data)
    points.whole()
    return home / "whole" / "home"


def with_runs(home: Path) -> None:
    """Copy what a finished comparison left."""
    shutil.copytree(finished(), home, dirs_exist_ok=True)


def fit() -> str:
    """Return the id of the fit of that comparison that has a model."""
    [head] = finished().glob("runs/*/model/head.safetensors")
    return head.parent.parent.name


COMMANDS: dict[str, tuple[Callable[[], tuple[str, ...]], Callable[[Path], None]]] = {
    "compare": (lambda: ("compare", "words", "--tasks", "mood", "--name", "first", *QUICK, *EAGER), data),
    "compare a probe": (lambda: ("compare", "words", "--tasks", "mood", "--method", "probe", *QUICK), data),
    "predict": (lambda: ("predict", fit(), "--split", "test", "--out", "answers/test.tsv"), with_runs),
    "export": (lambda: ("runs", "export", fit(), "exported/model"), with_runs),
    "submit": (lambda: ("submit", "moods", "--ensemble", fit(), "--out", "made/moods.zip"), with_runs),
    "report": (lambda: ("report", "first", "--out", "made/first.html"), with_runs),
    "share": (lambda: ("share", "first", "--out", "made/shared"), with_runs),
}
FEW = {"compare": 3, "submit": 1}
"""Points that are tried by default."""


def killed(name: str, folder: Path, few: int) -> tuple[int, list[str]]:
    """Kill a command at all its points, or at a few of them; return their number and the faults."""
    words, prepare = COMMANDS[name]
    points = KillPoints(folder, words(), prepare, refusal="exists already" if name == "export" else "")
    changes, expected = points.whole()
    assert len(changes) > 5
    chosen = [*range(1, len(changes) + 1)]
    if few:
        late = [point for point in chosen if changes[point - 1].endswith("/checkpoint")][-1:]  # the fit is done
        chosen = [*chosen[1 :: max(1, len(changes) // few)], *late]
    faults = [f"{fault} ({changes[point - 1]})" for point in chosen for fault in points.faults(point, expected)]
    return len(chosen), faults


@pytest.mark.parametrize("name", FEW)
def test_a_command_killed_at_a_change_leaves_nothing_behind(name: str, tmp_path: Path) -> None:
    assert killed(name, tmp_path, FEW[name])[1] == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_killed_at_every_change_leaves_nothing_behind(name: str, tmp_path: Path) -> None:
    count, faults = killed(name, tmp_path, 0)
    print(f"{name}: {count} points, {len(faults)} faults")
    assert faults == []
