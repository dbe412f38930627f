"""Seals: checksums of files, by which readers notice that a file was damaged or edited after it was written.

The checksums are XXH3 (128 bits), which reads 9 GB in a second on one core, where SHA-256 reads 1 GB. They are made
against damage and mistakes: whoever wants to forge a file can forge its checksum as well.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchrunner.errors import DamagedFile, DataError
from benchrunner.io.files import json_content, read_bytes, reading, refuse_pipe, write_atomically
from benchrunner.io.json_files import JSON_LIMIT, parse_json

_KEY = b',\n  "checksum": "'
_END = b'"\n}\n'
_BLOCK = 1 << 20


def checksum(content: bytes) -> str:
    """Return the checksum of bytes."""
    import xxhash

    return xxhash.xxh3_128_hexdigest(content)


def file_checksum(path: Path) -> str:
    """Return the checksum of a file's content."""
    import xxhash

    digest, block = xxhash.xxh3_128(), bytearray(_BLOCK)
    with reading(path):
        refuse_pipe(path)
        with path.open("rb", buffering=0) as file:
            while count := file.readinto(block):
                digest.update(memoryview(block)[:count])
    return digest.hexdigest()


def folder_checksums(folder: Path) -> dict[str, str]:
    """Return the checksums of all files in a folder, without hidden files, by their paths inside the folder."""
    return {name: file_checksum(folder / name) for name in file_names(folder)}


def check_files(folder: Path, checksums: Mapping[str, str], remedy: str, *, alone: bool = False) -> None:
    """Raise a `DamagedFile` with the remedy if a file of a folder is missing, damaged or edited.

    With `alone`, further files are refused as well: a reader may take them for parts of the whole.
    """
    for name, expected in checksums.items():
        check_file(folder / name, expected, remedy)
    if not alone:
        return
    for name in file_names(folder):
        if name not in checksums:
            raise _damaged(f"{folder / name}: this file was added later, and might be read.", remedy)


def made_again(place: Path) -> str:
    """Say what to do about a damaged file: what is at the place is made again."""
    return f"Remove {place} and repeat the command that made it."


def check_file(path: Path, expected: str, remedy: str) -> None:
    """Raise a `DamagedFile` with the remedy if a file is missing or has not the expected checksum."""
    with _told(remedy):
        actual = file_checksum(path)
    if actual != expected:
        raise _damaged(f"{path}: {_CHANGED}", remedy)


def checked_content(path: Path, expected: str | None, remedy: str) -> bytes:
    """Read a file whole; raise a `DamagedFile` with the remedy if it has not the expected checksum."""
    with _told(remedy):
        content = read_bytes(path)
    if checksum(content) != expected:
        raise _damaged(f"{path}: {_CHANGED}", remedy)
    return content


def write_sealed(path: Path, value: Any) -> None:
    """Write a dataclass or a mapping as a JSON object with its own checksum as the last key, in one step."""
    write_atomically(path, lambda part: part.write_bytes(sealed(value)))


def sealed(value: Any) -> bytes:
    """Return a dataclass or a mapping that is not empty as a file's content, with its checksum as the last key."""
    content = json_content(value).removesuffix(b"\n}")
    return content + _KEY + checksum(content).encode() + _END


def read_sealed(path: Path | str, remedy: str) -> dict[str, Any]:
    """Read what `write_sealed` wrote; raise a `DamagedFile` with the remedy if the file is damaged or edited."""
    with _told(remedy):
        content = read_bytes(path, JSON_LIMIT)
        value = parse_json(content, path)
    body, _, end = content.rpartition(_KEY)
    if end != checksum(body).encode() + _END:
        raise _damaged(f"{path}: {_CHANGED}", remedy)
    del value["checksum"]
    return dict(value)


def find_sealed(path: Path, remedy: str) -> dict[str, Any] | None:
    """Read what `write_sealed` wrote, as `read_sealed` does; None if there is no file of that name."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:  # read_sealed says why
        pass
    return read_sealed(path, remedy)


def seal_files(path: Path, of: str, files: Iterable[Path]) -> None:
    """Write the checksums of files that stand beside `path` to that file. `of` says what the files are."""
    write_sealed(path, {"of": of, "files": {file.name: file_checksum(file) for file in files}})


def check_seal(path: Path, of: str, remedy: str) -> None:
    """Raise a `DamagedFile` with the remedy if the files that `seal_files` sealed at `path` are damaged or edited."""
    value = read_sealed(path, remedy)
    if value["of"] != of:
        raise _damaged(f"{path}: this file belongs to {value['of']}, and not to {of}.", remedy)
    check_files(path.parent, value["files"], remedy)


_CHANGED = "damaged, or edited after it was written: its content does not match its checksum."


@contextlib.contextmanager
def _told(remedy: str) -> Iterator[None]:
    """Turn the reason why a file cannot be read into a `DamagedFile` with the remedy."""
    try:
        yield
    except DataError as error:
        raise _damaged(str(error), remedy) from None


def _damaged(reason: str, remedy: str) -> DamagedFile:
    return DamagedFile(f"{reason} {remedy}".rstrip())


def file_names(folder: Path) -> list[str]:
    """List the files in a folder, without hidden ones, by their paths inside the folder."""
    names = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        is_hidden = any(part.startswith(".") for part in name.parts)
        if not is_hidden and not path.is_dir():
            names.append(name.as_posix())
    return names
