"""Reads submissions, whoever wrote them: zip archives, folders and single files, with limits on their size."""

from __future__ import annotations

import contextlib
import re
import zipfile
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, BinaryIO, final

from benchrunner import RequestError

MAX_BYTES = 2**28
"""Size of the largest archive that is opened. No submission comes near it."""
MAX_LIST_BYTES = 2**20
"""Size of the longest list of files that is read from a zip archive. It takes up to forty times as much in memory."""
MAX_FILES = 10_000
"""Number of files in the largest folder that is read. No submission comes near it."""

_ZIP_START = b"PK\x03\x04"
_OTHER_ARCHIVE = re.compile(r".*\.(tar|tgz|gz|bz2|xz|zst|7z|rar)", re.IGNORECASE)
_LONGEST_REASON = 200
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
        members = sorted(islice(path.iterdir(), MAX_FILES + 1))
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    if len(members) > MAX_FILES:
        raise Unreadable(f"holds more than {MAX_FILES:,} files, so it is no submission")
    entries = list[Entry]()
    for file in members:
        name = f"{file.name}/" if file.is_dir() else file.name
        entries.append(Entry(name, partial(_read_file, file)))
    return entries


def _read_file(path: Path, limit: int) -> bytes:
    if not path.is_file():
        raise Unreadable("is not a plain file")
    try:
        _check_size(path.stat().st_size, limit)
        with path.open("rb") as file:
            return _limited(file, limit)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None


def _zipped(path: Path, stack: contextlib.ExitStack) -> list[Entry]:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise Unreadable(f"is too large to be a submission: {size:,} bytes")
    try:
        file = _LimitedFile(stack.enter_context(path.open("rb")), MAX_LIST_BYTES)
        archive = stack.enter_context(zipfile.ZipFile(file))  # which only seeks, tells and reads
    except zipfile.BadZipFile:
        raise Unreadable("is not a zip archive, or is damaged; pack the files again") from None
    except _ZIP_ERRORS as error:
        raise Unreadable(f"cannot be read: {_shortened(error)}") from None
    file.limit = MAX_BYTES
    members = archive.infolist()
    files = sorted(member.filename for member in members if not member.filename.endswith("/"))
    entries = list[Entry]()
    for member in members:
        if not _is_folder_of(member.filename, files):
            entries.append(Entry(member.filename, partial(_read_member, archive, member)))
    return entries


@final
class _LimitedFile:
    """A file for `zipfile`, which reads the whole list of an archive's files at once, however long that list is."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self._file = file
        self.limit = limit
        self.seek = file.seek
        self.tell = file.tell
        self.seekable = file.seekable

    def read(self, size: int = -1) -> bytes:
        """Read so many bytes, or all; raises `Unreadable` for more than the limit."""
        if size > self.limit:
            raise Unreadable(f"lists too many files to be a submission: the list alone takes {size:,} bytes")
        return self._file.read(size)


def _is_folder_of(name: str, files: list[str]) -> bool:
    """Whether an entry is a folder that holds any of the files, which are sorted by their names."""
    at = bisect_left(files, name)
    return name.endswith("/") and at < len(files) and files[at].startswith(name)


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int) -> bytes:
    if member.flag_bits & 0x1:
        raise Unreadable("is encrypted; pack the files without a password")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others cannot be read with a limit
        raise Unreadable("is compressed by a method that servers seldom read; pack the file with the method 'deflate'")
    try:
        _check_size(member.file_size, limit)
        with archive.open(member) as file:
            return _limited(file, limit)
    except _ZIP_ERRORS as error:
        raise Unreadable(f"is damaged ({_shortened(error)}); pack the files again") from None


def _limited(file: IO[bytes], limit: int) -> bytes:
    """Read a whole file; raise an error as soon as more than `limit` bytes come, whatever size the archive states."""
    content = bytearray()
    while part := file.read(2**20):
        content += part
        _check_size(len(content), limit)
    return bytes(content)


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise Unreadable(f"is larger than {limit:,} bytes, more than its rows can need; it may be another file")


def _shortened(error: Exception) -> str:
    """Cut the message of an error, which may hold the names of files."""
    return " ".join(str(error).split())[:_LONGEST_REASON]
