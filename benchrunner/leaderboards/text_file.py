"""What text files of a submission have in common: spelled answers, an encoding, line ends, and no blank lines."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from benchrunner.file_faults import Faults

Spelt = TypeVar("Spelt")


def spelled(answers: Iterable[tuple[int | str, Any]], spell: Callable[[Any], Spelt], faults: Faults) -> list[Spelt]:
    """Each of the named answers as the file writes it; refused with the names of all that cannot be written."""
    found = list[Spelt]()
    for name, answer in answers:
        try:
            found.append(spell(answer))
        except ValueError as expected:
            faults.at(name, answer, str(expected))
    faults.refuse()
    return found


def encoded(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def decoded(content: bytes, faults: Faults, *, expected: str) -> str | None:
    """The text, or None where there is none to look at; whatever ails it as a whole is said."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        faults.say("UTF-16 text; save it as UTF-8")
        return None
    if content.startswith(codecs.BOM_UTF8):
        faults.say("begins with a byte order mark (BOM); save it as UTF-8 without one")
        content = content.removeprefix(codecs.BOM_UTF8)
    if not content.strip():
        faults.say(f"the file is empty; {expected} expected")
        return None
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        faults.say(f"line {content[: error.start].count(10) + 1}: not UTF-8 text; save it as UTF-8")
        return None


def lines_of(text: str, faults: Faults) -> list[str]:
    """The lines; ends that are not LF alone are said and taken off."""
    lines = text.removesuffix("\n").split("\n")
    ends = sum(line.endswith("\r") for line in lines)
    if ends:
        faults.say(f"lines end with CR LF, as Windows writes them ({ends:,} in all); end lines with LF alone")
        lines = [line.removesuffix("\r") for line in lines]
    for number, line in enumerate(lines, start=1):
        if "\r" in line:
            faults.at(number, line, "a carriage return (CR) stands inside the line; end lines with LF alone")
    return lines


def filled_lines(content: bytes, faults: Faults, *, expected: str) -> list[tuple[int, str]]:
    """The lines that are not blank, with their numbers; blank ones are said."""
    text = decoded(content, faults, expected=expected)
    lines = lines_of(text, faults) if text is not None else []
    filled = [(number, line) for number, line in enumerate(lines, start=1) if line.strip(" ")]
    last = filled[-1][0] if filled else 0
    if last < len(lines):
        faults.say(f"nothing but blank lines from line {last + 1} on; remove them")
    if len(filled) < last:
        for number, line in enumerate(lines[:last], start=1):
            if not line.strip(" "):
                faults.at(number, line, "blank lines are not allowed")
    return filled
