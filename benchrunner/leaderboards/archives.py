"""Reads submissions, whoever wrote them: zip archives, folders and single files, with limits on their size."""

from __future__ import annotations

import contextlib
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import final

from benchrunner.errors import RequestError

MAX_BYTES = 2**28
"""Size of the largest archive that is opened. No submission comes near it, and the list of entries is in memory."""

_ZIP_START = b"PK\x03\x04"
_OTHER_ARCHIVE = re.compile(r".*\.(tar|tgz|gz|bz2|xz|zst|7z|rar)", re.IGNORECASE)
_DESKTOP_FILE = re.compile(r"__MACOSX|\.DS_Store|\._.*|Thumbs\.db|desktop\.ini")
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, OverflowError)
"""What zipfile raises for archives that are damaged, encrypted or of an unknown kind."""


class Unreadable(RequestError):
    """An archive, or a file in it, that cannot be read. The message continues a sentence that begins with its name."""


@final
@dataclass(frozen=True)
class Entry:
    """One file in an archive or a folder."""

    path: str
    """Path as the archive has it, with folders. It ends with / for a folder that holds no files."""
    read: Callable[[int], bytes]
    """Reads the content. Raises `Unreadable` if the file is damaged or larger than so many bytes."""

    @property
    def name(self) -> str:
        """The last part of the path, after a slash or a backslash."""
        return re.split(r"[/\\]", self.path.rstrip("/\\"))[-1]

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")

    @property
    def is_nested(self) -> bool:
        """Whether the file is inside a folder."""
        return self.name != self.path

    @property
    def is_desktop_file(self) -> bool:
        """Whether an operating system's desktop wrote the file, for example .DS_Store."""
        return any(_DESKTOP_FILE.fullmatch(part) for part in re.split(r"[/\\]", self.path))


@contextmanager
def opened(path: Path) -> Iterator[list[Entry]]:
    """Open a submission and list its files in order: those of a zip archive or a folder, or the single file."""
    if path.is_dir():
        yield _folder(path)
    elif is_single(path):
        yield [Entry(path.name, partial(_read_file, path))]
    elif path.is_file():
        with contextlib.ExitStack() as stack:
            yield _zipped(path, stack)
    elif path.exists():
        raise RequestError(f"{path} is not a plain file or folder.")
    else:
        raise RequestError(f"There is no file or folder {path}.")


def is_single(path: Path) -> bool:
    """Tell whether a path is a single file and no archive, by its name and its first bytes."""
    if not path.is_file() or path.suffix.lower() == ".zip" or _OTHER_ARCHIVE.fullmatch(path.name):
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_ZIP_START)) != _ZIP_START
    except OSError:  # the error is reported where the file is read
        return True


def _folder(path: Path) -> list[Entry]:
    try:
        members = sorted(path.iterdir())
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    return [Entry(f"{file.name}/" if file.is_dir() else file.name, partial(_read_file, file)) for file in members]


def _read_file(path: Path, limit: int) -> bytes:
    if not path.is_file():
        raise Unreadable("is not a plain file")
    try:
        with path.open("rb") as file:
            return _limited(file.read(limit + 1), limit)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None


def _zipped(path: Path, stack: contextlib.ExitStack) -> list[Entry]:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise Unreadable(f"is too large to be a submission: {size:,} bytes")
    try:
        archive = stack.enter_context(zipfile.ZipFile(path))
    except zipfile.BadZipFile:
        raise Unreadable("is not a zip archive, or is damaged; pack the files again") from None
    except _ZIP_ERRORS as error:
        raise Unreadable(f"cannot be read: {error}") from None
    members = archive.infolist()
    folders_with_files = {
        folder for member in members if not member.is_dir() for folder in _folders_above(member.filename)
    }
    kept = [member for member in members if member.filename not in folders_with_files]
    return [Entry(member.filename, partial(_read_member, archive, member)) for member in kept]


def _folders_above(name: str) -> list[str]:
    return [name[: at + 1] for at, letter in enumerate(name) if letter == "/"]


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int) -> bytes:
    if member.flag_bits & 0x1:
        raise Unreadable("is encrypted; pack the files without a password")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others cannot be read with a limit
        raise Unreadable("is compressed by a method that servers seldom read; pack the file with the method 'deflate'")
    try:
        with archive.open(member) as file:
            return _limited(file.read(limit + 1), limit)
    except _ZIP_ERRORS as error:
        raise Unreadable(f"is damaged ({error}); pack the files again") from None


def _limited(content: bytes, limit: int) -> bytes:
    if len(content) > limit:
        raise Unreadable(f"is larger than {limit:,} bytes, more than its rows can need; it may be another file")
    return content
