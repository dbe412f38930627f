"""Temporary files of killed processes are removed by the next writer; those of living processes stay."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchrunner.io.files import (
    remove_leftovers,
    remove_whole,
    temporary_file,
    temporary_folder,
    write_atomically,
    write_folder_atomically,
    write_json,
)

KILLED = """
import os, pathlib, signal, sys
from benchrunner.io.files import write_atomically, write_folder_atomically
write = write_folder_atomically if sys.argv[2] == "folder" else write_atomically

def fill(part):
    (part / "half" if part.is_dir() else part).write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)

write(pathlib.Path(sys.argv[1]), fill)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_the_next_writer_removes_what_a_killed_one_left(kind: str, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "result"), kind], check=False)
    (leftover,) = names(tmp_path)
    assert leftover.startswith(".result.") and leftover.endswith(".part")
    write_json(tmp_path / "other.json", 1)
    assert names(tmp_path) == ["other.json"]


REMOVED = """
import os, pathlib, shutil, signal, sys
from benchrunner.io.files import remove_whole
shutil.rmtree = lambda path, ignore_errors: os.kill(os.getpid(), signal.SIGKILL)
remove_whole(pathlib.Path(sys.argv[1]))
"""


def test_a_folder_is_removed_whole_or_stays_whole(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "record.json").touch()
    subprocess.run([sys.executable, "-c", REMOVED, str(tmp_path / "run")], check=False)
    (leftover,) = names(tmp_path)
    assert leftover.startswith(".run.") and names(tmp_path / leftover) == ["record.json"]
    remove_whole(tmp_path / "run")  # the repeated call
    assert names(tmp_path) == []


def test_files_of_living_processes_and_foreign_files_stay(tmp_path: Path) -> None:
    kept = [temporary_file(tmp_path / "a"), temporary_folder(tmp_path / "b"), tmp_path / ".mine.part"]
    kept[2].touch()
    other = tmp_path / ".a.999999999-01234567.x.part"  # another machine's
    other.touch()
    remove_leftovers(tmp_path)
    assert all(path.exists() for path in (*kept, other))


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_replaced_folder_stays_until_its_successor_is_there(is_replaced: bool, tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    part = temporary_folder(tmp_path / "result")
    fields = part.name.split(".")
    fields[2] = f"{ended.pid}-{fields[2].partition('-')[2]}"
    old = part.with_name(".".join([*fields[:-1], "old.part"]))
    part.rename(old)
    if is_replaced:
        (tmp_path / "result").mkdir()
    write_folder_atomically(tmp_path / "other", lambda folder: (folder / "x").touch())
    assert old.exists() != is_replaced


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("\u00e4" * 120)
    write_atomically(path, lambda part: part.write_text("whole"))
    assert path.read_text() == "whole" and names(tmp_path) == [path.name]
