"""Archives and folders of a few small files: the same to the bit every time, read with bounds and without trust."""

from __future__ import annotations

import contextlib
import hashlib
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import final

from benchrunner.errors import RequestError

LARGEST = 2**28
"""Bytes of the largest archive that is opened: none of ours comes near, and a list of entries lives in memory."""

_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip file can write down
_MAGIC = b"PK\x03\x04"
_JUNK = re.compile(r"__MACOSX|\.DS_Store|\._.*|Thumbs\.db|desktop\.ini")
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, OverflowError)
"""What zipfile raises on damaged, encrypted or foreign archives."""


class Unreadable(RequestError):
    """An archive, or a file in it, that cannot be read; the message is the end of a sentence."""


@final
@dataclass(frozen=True)
class Entry:
    """One file in an archive or a folder."""

    path: str
    """As the archive has it, folders included; ends with / where it is a folder without files."""
    read: Callable[[int], bytes]
    """The content, or `Unreadable` where it is damaged or larger than so many bytes."""

    @property
    def name(self) -> str:
        """The last part of the path, whichever way the slashes lean."""
        return re.split(r"[/\\]", self.path.rstrip("/\\"))[-1]

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")

    @property
    def is_nested(self) -> bool:
        return self.name != self.path

    @property
    def is_junk(self) -> bool:
        """Left behind by a desktop, not by a person."""
        return any(_JUNK.fullmatch(part) for part in re.split(r"[/\\]", self.path))


@contextmanager
def opened(path: Path) -> Iterator[list[Entry]]:
    """The files of a zip archive or of a plain folder, in their order; any other file is the only one."""
    if path.is_dir():
        yield _folder(path)
    elif is_single(path):
        yield [Entry(path.name, partial(_read_file, path))]
    elif path.is_file():
        with contextlib.ExitStack() as stack:
            yield _zipped(path, stack)
    else:
        raise RequestError(f"There is no file or folder {path}.")


def is_single(path: Path) -> bool:
    """Whether this is a file and no archive: neither by its name nor by its first bytes."""
    if not path.is_file() or path.suffix.lower() == ".zip":
        return False
    try:
        with path.open("rb") as file:
            return not file.read(len(_MAGIC)).startswith(_MAGIC)
    except OSError:  # said where it is read
        return True


def digest(path: Path) -> str:
    """A hash of an archive's bytes, or of the names and the content of a folder's files."""
    if not path.is_dir():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    whole = hashlib.sha256()
    for one in sorted(path.iterdir()):
        content = digest(one) if one.is_file() else "no file"
        whole.update(f"{one.name}\0{content}\0".encode())
    return whole.hexdigest()


def _folder(path: Path) -> list[Entry]:
    try:
        found = sorted(path.iterdir())
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    return [Entry(f"{one.name}/" if one.is_dir() else one.name, partial(_read_file, one)) for one in found]


def _read_file(path: Path, bound: int) -> bytes:
    if not path.is_file():
        raise Unreadable("is not a plain file")
    try:
        with path.open("rb") as file:
            return _bounded(file.read(bound + 1), bound)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None


def _zipped(path: Path, stack: contextlib.ExitStack) -> list[Entry]:
    size = path.stat().st_size
    if size > LARGEST:
        raise Unreadable(f"is too large to be a submission: {size:,} bytes")
    try:
        archive = stack.enter_context(zipfile.ZipFile(path))
    except zipfile.BadZipFile:
        raise Unreadable("is not a zip archive, or is damaged; pack the files again") from None
    except _BROKEN as error:
        raise Unreadable(f"cannot be read: {error}") from None
    infos = archive.infolist()
    folders_with_files = {folder for one in infos if not one.is_dir() for folder in _folders_above(one.filename)}
    kept = [one for one in infos if one.filename not in folders_with_files]
    return [Entry(one.filename, partial(_read_member, archive, one)) for one in kept]


def _folders_above(name: str) -> list[str]:
    return [name[: at + 1] for at, letter in enumerate(name) if letter == "/"]


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, bound: int) -> bytes:
    if info.flag_bits & 0x1:
        raise Unreadable("is encrypted; pack the files without a password")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # the others cannot be read with a bound
        raise Unreadable("is compressed in a way that servers seldom read; pack it with the usual method, deflate")
    try:
        with archive.open(info) as member:
            return _bounded(member.read(bound + 1), bound)
    except _BROKEN as error:
        raise Unreadable(f"is damaged ({error}); pack the files again") from None


def _bounded(content: bytes, bound: int) -> bytes:
    if len(content) > bound:
        raise Unreadable(f"is larger than {bound:,} bytes, more than its rows can need; it may be another file")
    return content


def pack(members: Mapping[str, bytes], path: Path) -> None:
    """A zip archive with the members at its top level.

    Names, order, times and permissions are fixed, so that equal content gives equal bytes (with one version of zlib).
    """
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _EARLIEST)
            info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
            archive.writestr(info, content, compresslevel=6)


def lay(members: Mapping[str, bytes], folder: Path) -> None:
    """The members as files of a folder that is there."""
    for name, content in members.items():
        (folder / name).write_bytes(content)
