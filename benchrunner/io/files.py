"""Files: they are read strictly and written atomically; temporary files of killed processes are removed."""

from __future__ import annotations

import codecs
import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchrunner.errors import DataError, PluginError, message_of
from benchrunner.io.json_form import as_json
from benchrunner.io.messages import quoted
from benchrunner.io.output_places import check_place, followed
from benchrunner.process.platform_facts import current_umask, flush_to_disk

TEXT_LIMIT = 2**31
"""Size in bytes of the largest text file that is read whole. Its rows take several times as much in memory."""
_READ_BYTES = 2**20
_ADVICE = "convert the file and try again."
_TEMPORARY = re.compile(
    r"\.(?P<target>.+)\.(?P<process>[1-9][0-9]{0,9})-(?P<machine>[0-9a-f]{8})\.[^.]+(?P<old>\.old)?\.part"
)
_MOST_CHARACTERS = 48
"""Characters of the target's name that are in a temporary name, so that the temporary name is not too long."""


_FULL = {
    "No space left on device": errno.ENOSPC,
    "Disk quota exceeded": errno.EDQUOT,
    "File too large (os error": errno.EFBIG,  # `ulimit -f`
}
"""How libraries with errors of their own say that a file cannot grow -> the system's number of such an error."""
_OF_PYTHON = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")
"""Codecs of Python that make text, but not of the bytes of a file."""


def full_disk(error: BaseException) -> int:
    """Return the system's number of an error that says that a file cannot grow; 0 for any other error.

    There is no space left, a quota is used up, or no file may be so large (`ulimit -f`).
    """
    for text, number in _FULL.items():
        if getattr(error, "errno", None) == number or text in message_of(error):
            return number
    return 0


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let an error of the system name a path if it names none."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it to `path`, so that it is never half written.

    Where `path` is a link, the file that it leads to is replaced.
    """
    path = followed(path)
    part = temporary_file(path)
    try:
        with _naming(path):
            write(part)
        flush_to_disk(part)
        part.chmod(_permissions(path))
        part.replace(path)
        flush_to_disk(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _permissions(path: Path) -> int:
    """Return the permissions of the file that is replaced, or those of a new file."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return 0o666 & ~current_umask()


def write_folder_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary folder, then rename it to `path`, so that no reader sees half of it.

    An older folder at `path`, or the folder that a link at `path` leads to, is replaced. Anything else there is
    refused. A folder that another process puts there at the same time is kept.
    """
    path = check_place(path, is_file=False)
    part = temporary_folder(path)
    try:
        with _naming(path):
            write(part)
        for entry in (part, *part.rglob("*")):
            entry.chmod((0o777 if entry.is_dir() else 0o666) & ~current_umask())  # safetensors makes files private
            flush_to_disk(entry)
        old = part.with_suffix(".old.part")
        with contextlib.suppress(FileNotFoundError):
            path.replace(old)  # no reader ever sees a folder that is half removed
        try:
            part.replace(path)
        except OSError as error:  # a folder that is there now may be gone again at the next moment
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
        flush_to_disk(path.parent)
        remove(old)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def remove(path: Path) -> None:
    """Remove a file or a folder with all that is in it, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write a value as an indented JSON file, as `as_json` gives it, in one step."""
    write_atomically(path, lambda part: part.write_bytes(json_content(value) + b"\n"))


def json_content(value: Any) -> bytes:
    """Return a value as indented JSON, as `as_json` gives it; a lone surrogate becomes its escape in JSON."""
    return json.dumps(as_json(value), indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace")


@contextlib.contextmanager
def reading(path: Path | str) -> Iterator[None]:
    """Turn an error of the system into a `DataError` that names the path."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}.") from None


def read_bytes(path: Path | str, limit: int = sys.maxsize) -> bytes:
    """Read a file whole; raise a `DataError` if it cannot be read, or has more than `limit` bytes."""
    with reading(path):
        refuse_pipe(path)
        with open(path, "rb") as file:  # noqa: PTH123 - thousands of small files are read; objects of paths take longer
            if os.fstat(file.fileno()).st_size <= limit:
                return file.read()
    raise DataError(f"{path}: larger than {limit:,} bytes, which is the most that is read of such a file.")


def refuse_pipe(path: Path | str) -> None:
    """Raise a `DataError` for a pipe, which may never end."""
    if stat.S_ISFIFO(os.stat(path).st_mode):  # noqa: PTH116 - thousands of small files are read
        raise DataError(f"{path}: not a regular file, but a pipe.")


def read_text(path: Path, advice: str = _ADVICE, *, encoding: str = "utf-8") -> str:
    """Read a text file without its byte order mark; raise a `DataError` with the line that is not UTF-8.

    Files are UTF-8 unless their format has another `encoding`, for example "latin-1". A file with zero bytes is
    refused, and so is one of more than `TEXT_LIMIT` bytes, without reading all of it.
    """
    content = bytearray()
    with reading(path), path.open("rb") as file:
        # Binary and sparse files and devices are no texts, and are not read to their end.
        while b"\0" not in content[-_READ_BYTES:] and (part := file.read(_READ_BYTES)):
            content += part
            if len(content) > TEXT_LIMIT:
                raise DataError(
                    f"{path}: more than {TEXT_LIMIT:,} bytes, which is the most that is read of a text file."
                )
    return decode_text(content, path, advice, encoding=encoding)


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 text file of any size.

    A part of the file is in memory at a time. Raises the errors of `read_text` when it comes to their place.
    """
    number = 1
    with reading(path), path.open("rb") as file:
        while part := file.read(_READ_BYTES) + file.readline(TEXT_LIMIT):
            lines = decode_text(part, path, _ADVICE, first_line=number).removesuffix("\n").split("\n")
            yield from lines
            number += len(lines)


def decode_text(
    content: bytes | bytearray, path: Path | str, advice: str, *, encoding: str = "utf-8", first_line: int = 1
) -> str:
    """Decode a text without its byte order mark; raise a `DataError` that names the path and the line.

    `first_line` is the number of the first line, for a part of a file.
    """
    is_utf8 = codecs.lookup(encoding).name == "utf-8"
    try:
        text = content.decode("utf-8-sig" if is_utf8 and first_line == 1 else encoding)
    except UnicodeDecodeError as error:
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):  # byte order marks of UTF-16
            advice = "UTF-16: save it as UTF-8."
        line = error.object[: error.start].count(b"\n") + first_line
        name = "UTF-8" if is_utf8 else encoding
        raise DataError(f"{path}:{line}: not {name} text ({error.reason}); {advice}") from None
    if (zero := text.find("\0")) >= 0:
        line = text.count("\n", 0, zero) + first_line
        raise DataError(f"{path}:{line}: a zero byte, which no text has; {advice}")
    return text


def check_encoding(name: str) -> None:
    """Raise a `PluginError` for an encoding that is not known, or not of files."""
    try:
        "a".encode(name)
        if codecs.lookup(name).name in _OF_PYTHON:
            raise LookupError
    except (LookupError, ValueError):  # also for codecs of Python that do not make text, such as "hex"
        raise PluginError(f"There is no encoding {quoted(name)}; use, for example, 'utf-8' or 'latin-1'.") from None


def temporary_file(target: Path) -> Path:
    """Create an empty temporary file beside `target`; remove leftovers of ended processes there."""
    handle, name = tempfile.mkstemp(**_beside(target))
    os.close(handle)
    return Path(name)


def temporary_folder(target: Path) -> Path:
    """Create a temporary folder beside `target`; remove leftovers of ended processes there."""
    return Path(tempfile.mkdtemp(**_beside(target)))


def remove_whole(folder: Path) -> None:
    """Remove a folder under a temporary name, so that no reader ever sees half of it, even if this process is killed.

    Leftovers of ended processes beside it are removed as well. Nothing is done if the folder is not there.
    """
    part = temporary_folder(folder)
    part.rmdir()
    with contextlib.suppress(FileNotFoundError):
        folder.rename(part)
    shutil.rmtree(part, ignore_errors=True)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files and folders in `folder` whose processes do not live any more.

    Processes of other machines count as living. A replaced folder is kept as long as nothing has taken its place.
    """
    with contextlib.suppress(OSError):  # a folder that may be written to but not listed
        for entry in list(os.scandir(folder)):
            match = _TEMPORARY.fullmatch(entry.name)
            if match is None or match["machine"] != _machine() or _lives(int(match["process"])):
                continue
            if match["old"] and not (folder / match["target"]).exists():
                continue
            remove(folder / entry.name)


def _beside(target: Path) -> dict[str, Any]:
    """Return the folder of a target, which is made, and what the names of temporary files there begin and end with."""
    folder = target.parent
    folder.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder)
    prefix = f".{target.name[:_MOST_CHARACTERS]}.{os.getpid()}-{_machine()}."
    return {"dir": folder, "prefix": prefix, "suffix": ".part"}


def _machine() -> str:
    """Return a short text for this machine and its set of process numbers: a container has a set of its own."""
    import platform  # loads slowly, and most commands write nothing

    numbers = ""
    with contextlib.suppress(OSError):  # no Linux
        numbers = str(Path("/proc/self/ns/pid").readlink())
    return hashlib.sha256(f"{platform.node()} {numbers}".encode()).hexdigest()[:8]


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # a process of another user
        return True
    return True
