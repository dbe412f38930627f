"""Read text files in blocks of whole lines, with the quirks of real files."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from benchrunner import DataError
from benchrunner_bert.pretraining.corpus.manifest import SourceFacts

_BLOCK = 1 << 20
"""Bytes read at once."""


_NEARBY = 1 << 12
"""Bytes in which a blank is looked for where a line is cut."""


_BOM = b"\xef\xbb\xbf"


BAD = re.compile("[\ud800-\udfff]")
"""What stands for a byte that is not UTF-8, and what no UTF-8 can hold."""


REPLACED = "\ufffd"


_WIDE = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


_PACKED = re.compile(
    rb"(?P<gzip>\x1f\x8b)|(?P<zstd>\x28\xb5\x2f\xfd)|(?P<zip>PK\x03\x04)|(?P<xz>\xfd7zXZ\x00)|(?P<bzip2>BZh[1-9]1AY&SY)"
)
"""How compressed files begin."""


_HEAD = 1 << 16
"""Bytes that show whether a file is text."""


_FEW = 512
"""Of fewer bytes a share tells nothing."""


def lines(path: Path, *, whole: bool = False) -> Iterator[str]:
    """Lines without their ends; a byte that is not UTF-8 becomes a replacement character."""
    first = True
    for block in _blocks(path, whole=whole):
        text, _ = decoded(block.removeprefix(_BOM) if first else block)
        first = False
        yield from text.removesuffix("\n").split("\n")


def _blocks(path: Path, *, whole: bool = False) -> Iterator[bytes]:
    """A file in blocks of whole lines; lines longer than a block are cut, unless they are to stay whole."""
    try:
        with path.open("rb") as file:
            _check_text(path, file)
            while block := file.read(_BLOCK):
                yield block + (file.readline() if whole else _rest(file))
    except OSError as error:
        raise unreadable(path, error) from None


def _rest(file: IO[bytes]) -> bytes:
    """Up to the end of the line, or, where that is further than a block, up to a place where it may be cut."""
    rest = file.readline(_BLOCK)
    if len(rest) < _BLOCK or rest.endswith(b"\n"):
        return rest
    end = _last_word(rest) or len(rest)
    file.seek(end - len(rest), os.SEEK_CUR)
    return rest[:end]


def _last_word(text: bytes) -> int:
    """Where it begins, so that what follows a cut is no blank line; its last character where no blank is near."""
    end = len(text.rstrip())
    if blank := text.rfind(b" ", max(0, end - _NEARBY), end) + 1:
        return blank
    start = max(0, end - 1)
    while start and text[start] & 0xC0 == 0x80:  # a byte inside a UTF-8 character
        start -= 1
    return start


def _check_text(path: Path, file: IO[bytes]) -> None:
    start = file.read(_HEAD)
    file.seek(0)
    if packed := _PACKED.match(start):
        raise DataError(f"{path}: not a file of UTF-8 text: it is compressed ({packed.lastgroup}). Unpack it first.")
    if what := _not_text(start):
        raise DataError(f"{path}: not a file of UTF-8 text: {what}. Convert it, or name the files that are text.")


def _not_text(start: bytes) -> str | None:
    if wide := _WIDE.get(start[:2]):
        return f"it looks like {wide}"
    if start.count(0) > len(start) // 100:
        return "it holds zero bytes"
    bad = decoded(start)[1]
    return f"{bad:,} of its first {len(start):,} bytes are none" if bad > max(len(start), _FEW) // 20 else None


def decoded(raw: bytes) -> tuple[str, int]:
    """The text, and how many of its bytes are not UTF-8."""
    try:
        return raw.decode("utf-8"), 0
    except UnicodeDecodeError:
        return BAD.subn(REPLACED, raw.decode("utf-8", "surrogateescape"))


def file_facts(path: Path, name: str) -> SourceFacts:
    digest = hashlib.sha256()
    size = crlf = bad = 0
    bom: bool | None = None
    for block in _blocks(path):
        bom = block.startswith(_BOM) if bom is None else bom
        digest.update(block)
        size += len(block)
        crlf += block.count(b"\r\n")
        bad += decoded(block)[1]
    return SourceFacts(name, size=size, sha256=digest.hexdigest(), bom=bool(bom), crlf=crlf, bad_bytes=bad)


def hashed(path: Path) -> tuple[int, str]:
    try:
        with path.open("rb") as file:
            return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> DataError:
    return DataError(f"{path}: cannot be read: {error.strerror or error}.")
