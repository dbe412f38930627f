"""Output goes where the user says: a link stays a link, and a device or a pipe is refused."""

import os
import stat
from pathlib import Path

import pytest

from benchrunner import RequestError
from benchrunner.engine import write_atomically, write_folder_atomically
from benchrunner.io.output_places import check_place

TEXT = "1 2 3\n"


def write(path: Path) -> None:
    check_place(path, is_file=True)
    write_atomically(path, lambda part: part.write_text(TEXT))


def write_folder(path: Path) -> None:
    check_place(path, is_file=False)
    write_folder_atomically(path, lambda part: (part / "new.txt").write_text(TEXT))


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    file, link, further = tmp_path / "deep" / "file.txt", tmp_path / "link.txt", tmp_path / "further.txt"
    file.parent.mkdir()
    file.write_text("old")
    link.symlink_to("deep/file.txt")
    further.symlink_to(link)
    write(further)
    assert (link.is_symlink(), further.is_symlink(), file.read_text()) == (True, True, TEXT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "further.txt", "link.txt"]
    assert [path.name for path in file.parent.iterdir()] == ["file.txt"]


def test_a_file_is_written_below_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("folder")
    write(tmp_path / "link" / "file.txt")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "folder" / "file.txt").read_text() == TEXT


@pytest.mark.parametrize("name", ["", ".", "sub/.."])
def test_the_current_folder_may_be_the_output(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    (folder / "sub").mkdir(parents=True)
    monkeypatch.chdir(folder)
    write_folder(Path(name))
    assert [path.name for path in folder.iterdir()] == ["new.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_a_pipe_or_a_device_is_refused(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to("/dev/null")
    for place in (pipe, link, Path("/dev/null")):
        for writes in (write, write_folder, lambda path: write_atomically(path, Path.touch)):
            with pytest.raises(RequestError, match=f"{place} cannot be written: this is a pipe or a device; name "):
                writes(place)
    assert pipe.is_fifo() and link.is_symlink()


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for writes in (write, write_folder):
        with pytest.raises(RequestError, match="loop cannot be written: it is a link that leads back to itself"):
            writes(loop)
    assert loop.is_symlink()


def test_the_permissions_of_a_replaced_file_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "private.txt"
    file.write_text("old")
    file.chmod(0o600)
    write(file)
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == (TEXT, 0o600)
