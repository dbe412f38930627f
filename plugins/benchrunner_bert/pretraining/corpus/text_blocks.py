"""Read text files in blocks of whole lines: byte order marks, bytes that are not UTF-8, files that are no text."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from benchrunner import DataError
from benchrunner_bert.pretraining.corpus.manifest import SourceFacts

BAD = re.compile("[\ud800-\udfff]")
"""Characters that stand for bytes that are not UTF-8. Valid UTF-8 never decodes to them."""
REPLACEMENT = "\ufffd"
"""Unicode's replacement character."""

_BLOCK = 1 << 20
"""Bytes read at once."""
_NEARBY = 1 << 12
"""Bytes before a cut in which a blank is searched."""
_HEAD = 1 << 16
"""Bytes at the start of a file that show whether it is text."""
_FEW = 512
"""Shorter heads count as if they had this many bytes: a few bad bytes must not dominate them."""

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of UTF-16."""
_COMPRESSED = re.compile(
    rb"(?P<gzip>\x1f\x8b)|(?P<zstd>\x28\xb5\x2f\xfd)|(?P<zip>PK\x03\x04)|(?P<xz>\xfd7zXZ\x00)|(?P<bzip2>BZh[1-9]1AY&SY)"
)
"""First bytes of compressed files."""


def lines(path: Path, *, whole: bool = False) -> Iterator[str]:
    """Give lines without line breaks; a byte that is not UTF-8 becomes a replacement character.

    Lines longer than a block are cut, unless lines must stay `whole`.
    """
    first = True
    for block in _blocks(path, whole=whole):
        text, _ = decoded(block.removeprefix(_BOM) if first else block)
        first = False
        yield from text.removesuffix("\n").split("\n")


def decoded(raw: bytes) -> tuple[str, int]:
    """Give the text, and the number of bytes that are not UTF-8."""
    try:
        return raw.decode("utf-8"), 0
    except UnicodeDecodeError:
        return BAD.subn(REPLACEMENT, raw.decode("utf-8", "surrogateescape"))


def file_facts(path: Path, name: str) -> SourceFacts:
    """Read a whole text file; give its hash and what was unusual in it."""
    digest = hashlib.sha256()
    size = crlf = bad_bytes = 0
    bom: bool | None = None
    for block in _blocks(path):
        bom = block.startswith(_BOM) if bom is None else bom
        digest.update(block)
        size += len(block)
        crlf += block.count(b"\r\n")
        bad_bytes += decoded(block)[1]
    return SourceFacts(name, size=size, sha256=digest.hexdigest(), bom=bool(bom), crlf=crlf, bad_bytes=bad_bytes)


def hashed(path: Path) -> tuple[int, str]:
    """Give the size and the hash of any file."""
    try:
        with path.open("rb") as file:
            return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> DataError:
    """Build the error for a file that the system cannot read."""
    return DataError(f"{path}: cannot be read: {error.strerror or error}.")


def _blocks(path: Path, *, whole: bool = False) -> Iterator[bytes]:
    """Give a file in blocks of whole lines; lines longer than a block are cut, unless lines must stay `whole`."""
    try:
        with path.open("rb") as file:
            _check_text(path, file)
            while block := file.read(_BLOCK):
                yield block + (file.readline() if whole else _rest(file))
    except OSError as error:
        raise unreadable(path, error) from None


def _rest(file: IO[bytes]) -> bytes:
    """Read to the end of the line; if that is further than a block, read to a place where the line can be cut."""
    rest = file.readline(_BLOCK)
    if len(rest) < _BLOCK or rest.endswith(b"\n"):
        return rest
    end = _last_word(rest) or len(rest)
    file.seek(end - len(rest), os.SEEK_CUR)
    return rest[:end]


def _last_word(text: bytes) -> int:
    """Give the start of the last word, or of the last character where no blank is near.

    Blanks at the end of the text belong to the part after the cut, which thus never is a blank line.
    """
    end = len(text.rstrip())
    if blank := text.rfind(b" ", max(0, end - _NEARBY), end) + 1:
        return blank
    start = max(0, end - 1)
    while start and text[start] & 0xC0 == 0x80:  # a byte inside a UTF-8 character
        start -= 1
    return start


def _check_text(path: Path, file: IO[bytes]) -> None:
    head = file.read(_HEAD)
    file.seek(0)
    if match := _COMPRESSED.match(head):
        raise DataError(f"{path}: not a file of UTF-8 text: it is compressed ({match.lastgroup}). Unpack it first.")
    if reason := _reason_against_text(head):
        raise DataError(f"{path}: not a file of UTF-8 text: {reason}. Convert it, or name the files that are text.")


def _reason_against_text(head: bytes) -> str | None:
    """Say why the first bytes of a file cannot be UTF-8 text; None where they can."""
    if head.startswith(_UTF16):
        return "it looks like UTF-16"
    if head.count(0) > len(head) // 100:
        return "it holds zero bytes"
    bad_bytes = decoded(head)[1]
    if bad_bytes > max(len(head), _FEW) // 20:
        return f"{bad_bytes:,} of its first {len(head):,} bytes are not UTF-8"
    return None
