"""Output goes where the user says: a link stays a link, a device stays a device, a FIFO's reader gets the content."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from benchrunner import RequestError
from benchrunner.engine import write_atomically, write_folder_atomically
from benchrunner.errors import BenchrunnerError
from benchrunner.io.output_places import check_place

TEXT = "1 2 3\n" * 50_000
"""More than a pipe holds, so that the reader and the writer have to meet."""


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


def test_a_fifo_whose_reader_ends_is_an_error(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    thread = threading.Thread(target=lambda: os.close(os.open(fifo, os.O_RDONLY)), daemon=True)
    thread.start()
    with pytest.raises(BenchrunnerError, match="fifo: its reader ended before everything was written"):
        write(fifo)
    thread.join(20)


def test_a_stream_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    monkeypatch.setattr(os, "access", lambda path, mode: path != fifo)  # tests may run as root, who may write anywhere
    for writes in (lambda: check_place(fifo, is_file=True), lambda: write_atomically(fifo, Path.touch)):
        with pytest.raises(RequestError, match="fifo cannot be written: you have no permission to write to it"):
            writes()
    os.close(reader)


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


PROGRAM = """
import sys
from pathlib import Path
from benchrunner.engine import write_atomically
print("before")
write_atomically(Path(sys.argv[1]), lambda part: part.write_text("content\\n"))
print("after")
"""


@pytest.mark.parametrize("to_file", [False, True], ids=["pipe", "file"])
@pytest.mark.parametrize("place", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
def test_standard_output_is_written_in_order(place: str, to_file: bool, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/stdout")
    words = [sys.executable, "-c", PROGRAM, place]
    if not to_file:
        written = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    else:
        with (tmp_path / "file.txt").open("w") as file:
            file.write("first\n")
            file.flush()
            subprocess.run(words, cwd=tmp_path, stdout=file, check=True)
        written = (tmp_path / "file.txt").read_text().removeprefix("first\n")
    assert written == "before\ncontent\nafter\n"
