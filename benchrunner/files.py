"""Write files and folders so that they are never half written, lock folders, and read text."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchrunner.errors import DataError


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in place in one step that survives a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    part = Path(name)
    try:
        write(part)
        flush_to_disk(part)
        part.chmod(0o666 & ~_umask())
        part.replace(path)
        flush_to_disk(path.parent)
    finally:
        part.unlink(missing_ok=True)


def write_folder_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """The same for a folder of files. An older folder of that name gives way; one made at the same time wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part"))
    try:
        write(part)
        for one in (part, *part.rglob("*")):
            one.chmod((0o777 if one.is_dir() else 0o666) & ~_umask())  # safetensors makes files for their owner alone
            flush_to_disk(one)
        old = part.with_suffix(".old.part")
        with contextlib.suppress(FileNotFoundError):
            path.replace(old)  # no reader ever sees a folder that is half removed
        try:
            part.replace(path)
        except OSError:
            if not path.is_dir():
                raise
        flush_to_disk(path.parent)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_json(path: Path, value: Any) -> None:
    """Write a value as an indented JSON file, in one step."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))


def flush_to_disk(path: Path) -> None:
    """Wait until the disk has it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


@contextlib.contextmanager
def held(folder: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold a folder alone. The operating system lets go of the lock when its owner dies, however it dies."""
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        waiting()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def read_text(path: Path, advice: str = "convert the file and try again.") -> str:
    """A UTF-8 file without its byte order mark, or a `DataError` with the line that is none."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DataError(f"{path}:{line}: not UTF-8 text ({error.reason}); {advice}") from None
