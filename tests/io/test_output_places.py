"""Output goes where the user says: a link stays a link, a device stays a device, a FIFO's reader gets the content."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def reader(path: Path) -> Iterator[list[str]]:
    """Make a FIFO that a thread reads; the list holds the text at the end."""
    os.mkfifo(path)
    texts: list[str] = []
    thread = threading.Thread(target=lambda: texts.append(path.read_text()), daemon=True)
    thread.start()
    yield texts
    thread.join(20)


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


def test_a_link_to_nothing_gets_its_file(tmp_path: Path) -> None:
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "new" / "file.txt")
    write(link)
    assert link.is_symlink() and (tmp_path / "new" / "file.txt").read_text() == TEXT


def test_a_file_is_written_below_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("folder")
    write(tmp_path / "link" / "file.txt")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "folder" / "file.txt").read_text() == TEXT


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    folder, link = tmp_path / "folder", tmp_path / "link"
    folder.mkdir()
    (folder / "old.txt").write_text("old")
    link.symlink_to(folder)
    write_folder(link)
    assert link.is_symlink() and [path.name for path in folder.iterdir()] == ["new.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link"]


@pytest.mark.parametrize("name", ["", ".", "sub/.."])
def test_the_current_folder_may_be_the_output(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    (folder / "sub").mkdir(parents=True)
    monkeypatch.chdir(folder)
    write_folder(Path(name))
    assert [path.name for path in folder.iterdir()] == ["new.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_a_fifo_stays_and_its_reader_gets_the_content(tmp_path: Path) -> None:
    fifo, link = tmp_path / "fifo", tmp_path / "link"
    link.symlink_to(fifo)
    for path in (fifo, link):
        with reader(fifo) as texts:
            write(path)
        assert (texts, stat.S_ISFIFO(fifo.stat().st_mode)) == ([TEXT], True)
        fifo.unlink()
    assert link.is_symlink()


def test_a_fifo_whose_reader_ends_is_an_error(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    thread = threading.Thread(target=lambda: os.close(os.open(fifo, os.O_RDONLY)), daemon=True)
    thread.start()
    with pytest.raises(BenchrunnerError, match="fifo: its reader ended before everything was written"):
        write(fifo)
    thread.join(20)


@pytest.fixture
def device(tmp_path: Path) -> Callable[[int, int], Path]:
    def made(kind: int, number: int) -> Path:
        path = tmp_path / "device"
        try:
            os.mknod(path, kind | 0o666, os.makedev(1 if kind == stat.S_IFCHR else 7, number))
        except PermissionError:
            pytest.skip("only root makes devices")
        return path

    return made


def test_a_device_is_written_to_and_stays(device: Callable[[int, int], Path]) -> None:
    null = device(stat.S_IFCHR, 3)
    write(null)
    assert stat.S_ISCHR(null.stat().st_mode)


def test_a_full_device_stays_and_is_named(device: Callable[[int, int], Path]) -> None:
    full = device(stat.S_IFCHR, 7)
    with pytest.raises(OSError, match="No space left on device"):
        write(full)
    assert stat.S_ISCHR(full.stat().st_mode)


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for writes in (write, write_folder):
        with pytest.raises(RequestError, match="loop cannot be written: it is a link that leads back to itself"):
            writes(loop)
    assert loop.is_symlink()


@pytest.mark.parametrize("kind", ["file", "link", "fifo", "device"])
def test_a_folder_does_not_replace_anything_else(kind: str, tmp_path: Path) -> None:
    place, file = tmp_path / "place", tmp_path / "file"
    file.write_text("old")
    if kind == "file":
        place.write_text("old")
    elif kind == "fifo":
        os.mkfifo(place)
    else:
        place.symlink_to(file if kind == "link" else "/dev/null")
    with pytest.raises(RequestError, match="cannot be written: this is a file; name a folder"):
        check_place(place, is_file=False)
    with pytest.raises(RequestError, match="cannot be written: this is a file; name a folder"):
        write_folder_atomically(place, lambda part: (part / "new.txt").touch())
    assert place.is_fifo() if kind == "fifo" else place.exists()
    assert file.read_text() == "old"


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
