"""Every command with an output path leaves links, devices and pipes as they are, and says what it cannot write to."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from command_line import Shell

WORDS = ("--device", "cpu", "--quiet")


@dataclass(frozen=True)
class Command:
    """A command that writes to the place `PLACE` among its words."""

    words: tuple[str, ...]
    place: str
    """Name of the place; some commands want a suffix."""
    is_folder: bool = False

    def __call__(self, shell: Shell, fit: str) -> tuple[int, str, str]:
        words = [{"PLACE": self.place, "FIT": fit}.get(word, word) for word in self.words]
        return shell(*words, *([] if words[0] == "demo" else shell.folders()))


COMMANDS = {
    "predict": Command(("predict", "FIT", "--split", "test", "--out", "PLACE"), "place"),
    "report": Command(("report", "first", "--out", "PLACE"), "place.html"),
    "submit": Command(("submit", "moods", "--ensemble", "FIT", "--out", "PLACE"), "place.zip"),
    "predict --board": Command(
        ("predict", "FIT", "--split", "test", "--board", "moods", "--out", "PLACE"), "place", is_folder=True
    ),
    "share": Command(("share", "first", "--out", "PLACE"), "place", is_folder=True),
    "export": Command(("runs", "export", "FIT", "PLACE"), "place", is_folder=True),
    "demo": Command(
        ("demo", "--tasks", "mood", "--out", "PLACE", "--backbone", "words", *WORDS), "place", is_folder=True
    ),
}
FILES = [name for name, command in COMMANDS.items() if not command.is_folder]
FOLDERS = [name for name, command in COMMANDS.items() if command.is_folder]


@pytest.fixture
def fit(finished: tuple[Path, str], shell: Shell) -> str:
    """Copy the finished runs into the shell's folder; return the id of the fit."""
    shutil.copytree(finished[0] / "runs", shell.folder / "runs")
    return finished[1]


def link(place: Path) -> None:
    (place.parent / "target").write_text("old")
    place.symlink_to("target")


def link_to_nothing(place: Path) -> None:
    place.symlink_to("target")


def link_to_a_folder(place: Path) -> None:
    (place.parent / "target").mkdir()
    place.symlink_to("target")


@pytest.mark.parametrize("made", [link, link_to_nothing])
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_written_where_a_link_leads(name: str, made: Callable[[Path], None], shell: Shell, fit: str) -> None:
    place = Path(COMMANDS[name].place)
    made(shell.folder / place)
    code, _, err = COMMANDS[name](shell, fit)
    assert code == 0, err
    assert place.is_symlink() and Path("target").stat().st_size > 100


@pytest.mark.parametrize("made", [os.mkfifo, lambda place: place.symlink_to("/dev/null")])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_pipe_or_a_device_is_refused(name: str, made: Callable[[Path], None], shell: Shell, fit: str) -> None:
    place = shell.folder / COMMANDS[name].place
    made(place)
    before = place.lstat()
    code, _, err = COMMANDS[name](shell, fit)
    assert code == 2 and "name " in err, err
    assert (place.lstat().st_ino, place.lstat().st_mode) == (before.st_ino, before.st_mode)


@pytest.mark.parametrize("made", [link, Path.touch])
@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_replaces_nothing_else(name: str, made: Callable[[Path], None], shell: Shell, fit: str) -> None:
    place = shell.folder / COMMANDS[name].place
    made(place)
    before = place.lstat()
    code, _, err = COMMANDS[name](shell, fit)
    assert code == 2 and "name a folder" in err, err
    assert (place.lstat().st_ino, place.lstat().st_mode) == (before.st_ino, before.st_mode)


@pytest.mark.parametrize("made", [link_to_a_folder, link_to_nothing])
@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_goes_where_a_link_leads(name: str, made: Callable[[Path], None], shell: Shell, fit: str) -> None:
    place = Path(COMMANDS[name].place)
    made(shell.folder / place)
    code, _, err = COMMANDS[name](shell, fit)
    assert place.is_symlink()
    if (name, made) == ("export", link_to_a_folder):
        assert code == 2 and "exists already; name a folder that does not" in err
    else:
        assert code == 0, err
        assert list(Path("target").iterdir())


def test_board_files_go_where_a_link_of_their_name_leads(shell: Shell, fit: str) -> None:
    place = Path("place") / "moods.tsv"
    place.parent.mkdir()
    place.symlink_to("../target")
    code, _, err = COMMANDS["predict --board"](shell, fit)
    assert code == 0, err
    assert place.is_symlink() and Path("target").read_bytes().startswith(b"id\tmood\n")
