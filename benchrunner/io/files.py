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
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchrunner.errors import DataError, PluginError, RequestError, message_of
from benchrunner.io.file_faults import quoted
from benchrunner.io.json_form import as_json
from benchrunner.io.output_places import followed
from benchrunner.process.platform_facts import current_umask, flush_to_disk

TEXT_LIMIT = 2**31
"""Size in bytes of the largest text file that is read. Its rows take several times as much in memory."""
_READ_BYTES = 2**20
_TEMPORARY = re.compile(
    r"\.(?P<target>.+)\.(?P<process>[1-9][0-9]{0,9})-(?P<machine>[0-9a-f]{8})\.[^.]+(?P<old>\.old)?\.part"
)
_MOST_CHARACTERS = 48
"""Characters of the target's name that are in a temporary name, so that the temporary name is not too long."""


def is_disk_full(error: BaseException) -> bool:
    """Return whether an error says that a file system has no space left; other libraries have errors of their own."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return "No space left on device" in message_of(error)


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it to `path`, so that it is never half written.

    Where `path` is a link, the file that it leads to is replaced.
    """
    path = followed(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = temporary_file(path)
    try:
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
        return stat.S_IMODE(path.stat().st_mode) & 0o777
    except FileNotFoundError:
        return 0o666 & ~current_umask()


def write_folder_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary folder, then rename it to `path`, so that no reader sees half of it.

    An older folder at `path`, or the folder that a link at `path` leads to, is replaced. Anything else there is
    refused. A folder that another process puts there at the same time is kept.
    """
    path = followed(path)
    if path.exists() and not path.is_dir():
        raise RequestError(f"{path} cannot be written: this is a file; name a folder.")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = temporary_folder(path)
    try:
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
    text = json.dumps(as_json(value), indent=2, ensure_ascii=False) + "\n"
    content = text.encode("utf-8", "backslashreplace")  # a lone surrogate becomes its escape in JSON
    write_atomically(path, lambda part: part.write_bytes(content))


def read_regular_file(path: Path | str, limit: int | None = None) -> bytes:
    """Read a regular file whole; raise a `DataError` for a folder, a pipe, a device or more than `limit` bytes.

    A pipe may never end, and a device may have no end, so neither is opened. Raises `OSError` as `open` does.
    """
    status = os.stat(path)  # noqa: PTH116 - thousands of small files are read, and objects of files take longer
    if not stat.S_ISREG(status.st_mode):
        raise DataError(f"{path}: not a regular file, but {_kind(status.st_mode)}.")
    if limit is None or status.st_size <= limit:
        content = _content(path, status.st_size, limit)
        if limit is None or len(content) <= limit:
            return content
    raise DataError(f"{path}: larger than {limit:,} bytes, which is the most that is read of such a file.")


def _content(path: Path | str, size: int, limit: int | None) -> bytes:
    """Read a file of about `size` bytes to its end, or at least one byte beyond the limit."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        content = os.read(descriptor, size + 1)
        if len(content) == size:
            return content
        parts = bytearray(content)  # the file changes meanwhile, or is larger than one call reads
        while (limit is None or len(parts) <= limit) and (part := os.read(descriptor, _READ_BYTES)):
            parts += part
        return bytes(parts)
    finally:
        os.close(descriptor)


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"


def read_text(path: Path, advice: str = "convert the file and try again.", *, encoding: str = "utf-8") -> str:
    """Read a text file without its byte order mark; raise a `DataError` with the line that is not UTF-8.

    Files are UTF-8 unless their format has another `encoding`, for example "latin-1". A file with zero bytes is
    refused, and so is one of more than `TEXT_LIMIT` bytes, without reading all of it.
    """
    try:
        return decode_text(_text_bytes(path), path, advice, encoding=encoding)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}.") from None


def _text_bytes(path: Path) -> bytes | bytearray:
    """Read a text file up to the first part with a zero byte: binary and sparse files and devices are no texts."""
    content = bytearray()
    with path.open("rb") as file:
        while b"\0" not in content[-_READ_BYTES:] and (part := file.read(_READ_BYTES)):
            content += part
            if len(content) > TEXT_LIMIT:
                raise DataError(
                    f"{path}: more than {TEXT_LIMIT:,} bytes, which is the most that is read of a text file."
                )
    return content


def decode_text(content: bytes | bytearray, path: Path | str, advice: str, *, encoding: str = "utf-8") -> str:
    """Decode a text without its byte order mark; raise a `DataError` that names the path and the line."""
    is_utf8 = codecs.lookup(encoding).name == "utf-8"
    try:
        text = content.decode().removeprefix("\ufeff") if is_utf8 else content.decode(encoding)
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        name = "UTF-8" if is_utf8 else encoding
        raise DataError(f"{path}:{line}: not {name} text ({error.reason}); {advice}") from None
    if (zero := text.find("\0")) >= 0:
        line = text.count("\n", 0, zero) + 1
        raise DataError(f"{path}:{line}: a zero byte, which no text has; {advice}")
    return text


def check_encoding(name: str) -> None:
    """Raise a `PluginError` for an encoding that Python does not know."""
    try:
        "a".encode(name)
    except LookupError:  # also for codecs of Python that do not make text, such as "hex"
        raise PluginError(f"There is no encoding {quoted(name)}; use, for example, 'utf-8' or 'latin-1'.") from None


def temporary_file(target: Path) -> Path:
    """Create an empty temporary file beside `target`; remove leftovers of ended processes there."""
    remove_leftovers(target.parent)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=_prefix(target), suffix=".part")
    os.close(handle)
    return Path(name)


def temporary_folder(target: Path) -> Path:
    """Create a temporary folder beside `target`; remove leftovers of ended processes there."""
    remove_leftovers(target.parent)
    return Path(tempfile.mkdtemp(dir=target.parent, prefix=_prefix(target), suffix=".part"))


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
        for name in [entry.name for entry in os.scandir(folder) if entry.name.endswith(".part")]:
            match = _TEMPORARY.fullmatch(name)
            if match is None or match["machine"] != _machine() or _lives(int(match["process"])):
                continue
            if match["old"] and not (folder / match["target"]).exists():
                continue
            remove(folder / name)


def _prefix(target: Path) -> str:
    return f".{target.name[:_MOST_CHARACTERS]}.{os.getpid()}-{_machine()}."


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
