"""Text files as bytes: encoding, line ends and blank lines, with every fault of a file that somebody else wrote."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from itertools import islice

from benchrunner.io.file_faults import Faults

_COMPRESSED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"7z\xbc\xaf": "7-Zip"}
"""First bytes of compressed files -> the format's name."""


_FURTHER_LINES = 10_000
"""Number of lines beyond twice the expected number that a file may have for every line to be checked."""


def encoded(lines: Iterable[str]) -> bytes:
    """Encode lines as UTF-8, each with a line feed at its end."""
    return "".join(f"{line}\n" for line in lines).encode()


def decoded(content: bytes, faults: Faults, *, expected: str) -> str | None:
    """Decode a text file and add the faults of its encoding; None where there is no text to check further."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        faults.say("UTF-16 text; save it as UTF-8")
        return None
    if content.startswith(codecs.BOM_UTF8):
        faults.say("begins with a byte order mark (BOM); save it as UTF-8 without one")
        content = content.removeprefix(codecs.BOM_UTF8)
    if not content.strip():
        faults.say(f"the file is empty; {expected} expected")
        return None
    if compressed := next((name for start, name in _COMPRESSED.items() if content.startswith(start)), None):
        faults.say(f"compressed with {compressed}; unpack it")
        return None
    if b"\0" in content:
        faults.say("not a text file: it holds zero bytes; expected UTF-8 text")
        return None
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        faults.say(f"line {content[: error.start].count(10) + 1}: not UTF-8 text; save it as UTF-8")
        return None


def only_answer(answers: Iterable[str]) -> str | None:
    """Return the answer that all of several answers are; None if there are fewer than two, or they differ."""
    first, *others = (*islice(rest := iter(answers), 2),) or ("",)
    return first if others == [first] and all(answer == first for answer in rest) else None


def lines_of(text: str, faults: Faults) -> list[str]:
    """Split a text into lines. Line ends other than a line feed (LF) are added as faults and removed."""
    if "\r" in text and "\n" not in text:
        faults.say("lines end with CR alone; end lines with LF alone")
        text = text.replace("\r", "\n")
    lines = text.removesuffix("\n").split("\n")
    windows_ends = sum(line.endswith("\r") for line in lines)
    if windows_ends:
        faults.say(f"lines end with CR LF, as Windows writes them ({windows_ends:,} in all); end lines with LF alone")
        lines = [line.removesuffix("\r") for line in lines]
    for number, line in enumerate(lines, start=1):
        if "\r" in line:
            faults.at(number, line, "a carriage return (CR) inside the line; end lines with LF alone")
    return lines


def filled_lines(content: bytes, faults: Faults, *, expected: str, rows: int) -> list[tuple[int, str]]:
    """List the lines that are not blank, with their numbers; blank lines are added as faults.

    A file with many more lines than `rows` is not read: it is another file, and the list would take memory.
    """
    text = decoded(content, faults, expected=expected)
    count = 0 if text is None else text.count("\n")
    if count > 2 * rows + _FURTHER_LINES:
        faults.say(f"{count:,} lines, where {rows:,} rows are expected; it may be another file")
        return []
    lines = lines_of(text, faults) if text is not None else []
    filled = [(number, line) for number, line in enumerate(lines, start=1) if line.strip(" ")]
    last = filled[-1][0] if filled else 0
    if last < len(lines):
        faults.say(f"only blank lines from line {last + 1} on; remove them")
    if len(filled) < last:
        for number, line in enumerate(lines[:last], start=1):
            if not line.strip(" "):
                faults.at(number, line, "blank lines are not allowed")
    return filled
