"""Reads the files of submissions, whoever wrote them: zip archives, folders and single files."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar, final

from benchrunner import RequestError

MAX_LIST_BYTES = 2**20
"""Size of the longest list of files that is read from a zip archive. It takes up to forty times as much in memory."""

_ZIP_START = b"PK\x03\x04"
_ARCHIVE = re.compile(r".*\.(zip|tar|tgz|gz|bz2|xz|zst|7z|rar)", re.IGNORECASE)
_LONGEST_REASON = 200
_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, OverflowError)
"""What reading may raise: zipfile raises these for archives that are damaged, encrypted or of an unknown kind."""

Content = TypeVar("Content")


class Unreadable(RequestError):
    """An archive, or a file in it, that cannot be read. The message continues a sentence that begins with its name."""


@final
@dataclass(frozen=True)
class Entry:
    """One file in an archive or a folder."""

    path: str
    """Path as the archive has it, with folders. It ends with / for a folder."""
    size: int
    content: Callable[[], bytes]

    @property
    def name(self) -> str:
        """The last part of the path, after a slash or a backslash; empty for a folder."""
        return re.split(r"[/\\]", self.path)[-1]

    def read(self, limit: int) -> bytes:
        """Read the content; raise `Unreadable` if the file is damaged or has more bytes than the limit."""
        if self.size > limit:
            raise Unreadable(f"is larger than {limit:,} bytes, more than its rows can need; it may be another file")
        return _read(self.content)


def entries_of(path: Path) -> list[Entry]:
    """List the files of a submission: those of a zip archive or a folder, or the single file."""
    if path.is_dir():
        return [_plain(file) for file in sorted(_read(lambda: list(path.iterdir())))]
    if is_single(path):
        return [_plain(path)]
    if path.is_file():
        members = _read(lambda: _members(path))
        return [Entry(member.filename, member.file_size, partial(_packed, path, member)) for member in members]
    if path.exists():
        raise RequestError(f"{path} is not a plain file or folder.")
    raise RequestError(f"There is no file or folder {path}.")


def is_single(path: Path) -> bool:
    """Tell whether a path is a single file and no archive, by its name and its first bytes."""
    if not path.is_file() or _ARCHIVE.fullmatch(path.name):
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_ZIP_START)) != _ZIP_START
    except OSError:  # the error is reported where the file is read
        return True


def _read(content: Callable[[], Content]) -> Content:
    try:
        return content()
    except _ERRORS as error:
        reason = " ".join(str(error).split())[:_LONGEST_REASON]  # it may hold the names of files
        raise Unreadable(f"cannot be read ({reason}); write or pack it again") from None


def _plain(file: Path) -> Entry:
    """Return a file of a folder."""
    if file.is_file():
        return Entry(file.name, file.stat().st_size, file.read_bytes)
    return Entry(f"{file.name}/" if file.is_dir() else file.name, 0, _nothing)


def _nothing() -> bytes:
    raise Unreadable("is not a plain file")


class _LimitedFile(io.FileIO):
    """A file for `zipfile`, which reads the whole list of an archive's files at once, however long that list is."""

    def read(self, size: int | None = -1) -> bytes:
        """Read so many bytes, or all; raise `Unreadable` for more than the limit."""
        if size is not None and size > MAX_LIST_BYTES:
            raise Unreadable(f"lists too many files to be a submission: the list alone takes {size:,} bytes")
        return super().read(size)


def _members(path: Path) -> list[zipfile.ZipInfo]:
    """List the files of an archive."""
    with _LimitedFile(path) as file, zipfile.ZipFile(file) as archive:
        return archive.infolist()


def _packed(path: Path, member: zipfile.ZipInfo) -> bytes:
    """Unpack a file in parts: the module stops at the size that the list states, but only after a part."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others unpack a part as a whole
        raise Unreadable("is compressed by a method that servers seldom read; pack the file with the method 'deflate'")
    with zipfile.ZipFile(path) as archive, archive.open(member) as file:
        return b"".join(iter(partial(file.read, 2**20), b""))
