"""Kinds of file that leaderboards take: answers to bytes, and bytes to everything that is wrong with them."""

from __future__ import annotations

import codecs
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, final

from benchrunner.errors import PluginError, RequestError
from benchrunner.faults import SHOWN, Faults, shown
from benchrunner.spellings import Spelling

TAB = "\t"
NO_OTHERS: Mapping[int, str] = MappingProxyType({})

_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")


class FileKind(ABC):
    """One kind of file. A kind that no row of a table can describe is a value of a plugin's own subclass."""

    @abstractmethod
    def write(self, name: str, answers: Sequence[Any]) -> bytes:
        """The file's content, or a `RequestError` that names every kind of unwritable answer."""

    @abstractmethod
    def check(self, name: str, content: bytes, rows: int, other_rows: Mapping[int, str] = NO_OTHERS) -> list[str]:
        """Everything that is wrong with a file's content, a sentence each.

        `rows` answers are expected; `other_rows` says what has another count that people come with by mistake.
        """

    @property
    def meanings(self) -> Mapping[str, str]:
        """Each text for an answer and the task's label that it stands for, where answers are labels."""
        return {}

    def bound(self, rows: int) -> int:
        """The most bytes that such a file can need; of a larger one no more is read."""
        return 2**20 + 4096 * rows


@final
@dataclass(frozen=True)
class Table(FileKind):
    """Lines of index, TAB, answer below a header; the index counts the rows of the test file from 0."""

    header: tuple[str, str]
    spelling: Spelling

    def __post_init__(self) -> None:
        if len(self.header) != 2 or len(set(self.header)) != 2:
            raise PluginError(f"A table's header is two different names, index and answer, not {list(self.header)}.")
        for name in self.header:
            if not name or not name.isprintable() or name != name.strip():
                raise PluginError(f"A column's name is one printable word, not {shown(name)}.")

    @property
    def meanings(self) -> Mapping[str, str]:
        return self.spelling.meanings

    def bound(self, rows: int) -> int:
        return 2**20 + 64 * rows  # an index, an answer, and room for numbers at full length

    def write(self, name: str, answers: Sequence[Any]) -> bytes:
        faults, lines = Faults(name, "answer"), [TAB.join(self.header)]
        for index, answer in enumerate(answers):
            try:
                lines.append(f"{index}{TAB}{self.spelling.write(answer)}")
            except ValueError as expected:
                faults.at(index, answer, str(expected))
        if problems := faults.sentences():
            raise RequestError("\n".join(problems))
        return ("\n".join(lines) + "\n").encode()

    def check(self, name: str, content: bytes, rows: int, other_rows: Mapping[int, str] = NO_OTHERS) -> list[str]:
        faults = Faults(name)
        lines = _lines(content, faults)
        if lines:
            body = self._below_header(lines, faults)
            if len(body) != rows:
                hint = f" ({other_rows[len(body)]})" if len(body) in other_rows else ""
                faults.say(f"{len(body):,} {'row' if len(body) == 1 else 'rows'}{hint}, expected {rows:,}")
            _check_indices(self._indices(body, faults), rows, faults)
        return faults.sentences()

    def _below_header(self, lines: list[tuple[int, str]], faults: Faults) -> list[tuple[int, str]]:
        number, first = lines[0]
        expected = TAB.join(self.header)
        if first == expected:
            return lines[1:]
        begins_with_row = re.match(r"[\"']?[0-9]+\b", first) is not None
        says = "there is no header line" if begins_with_row else "wrong header"
        faults.say(f"line {number}: {says}: expected {shown(expected)}, separated by a TAB, found {shown(first)}")
        return lines if begins_with_row else lines[1:]

    def _indices(self, body: list[tuple[int, str]], faults: Faults) -> list[tuple[int, int]]:
        """Line and index of each row that has one; columns and answers are checked on the way."""
        indices: list[tuple[int, int]] = []
        for line, text in body:
            fields = text.split(TAB)
            if len(fields) != 2:
                faults.at(line, text, "expected 2 columns, separated by one TAB")
                continue
            if _INDEX.fullmatch(fields[0]):
                indices.append((line, int(fields[0])))
            else:
                faults.at(line, fields[0], "expected an index: a whole number, without quotes, spaces or decimals")
            if (advice := self.spelling.advice(fields[1])) is not None:
                faults.at(line, fields[1], advice)
        return indices


def _lines(content: bytes, faults: Faults) -> list[tuple[int, str]]:
    """The lines that are not blank, with their numbers; whatever ails the text as a whole is said."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        faults.say("UTF-16 text; save it as UTF-8")
        return []
    if content.startswith(codecs.BOM_UTF8):
        faults.say("begins with a byte order mark (BOM); save it as UTF-8 without one")
        content = content.removeprefix(codecs.BOM_UTF8)
    if not content.strip():
        faults.say("the file is empty; a header and one line for each row were expected")
        return []
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        faults.say(f"line {content[: error.start].count(10) + 1}: not UTF-8 text; save it as UTF-8")
        return []
    return _without_blanks(_without_returns(text.removesuffix("\n").split("\n"), faults), faults)


def _without_returns(lines: list[str], faults: Faults) -> list[str]:
    ends = sum(line.endswith("\r") for line in lines)
    if ends:
        faults.say(f"lines end with CR LF, as Windows writes them ({ends:,} in all); end lines with LF alone")
        lines = [line.removesuffix("\r") for line in lines]
    for number, line in enumerate(lines, start=1):
        if "\r" in line:
            faults.at(number, line, "a carriage return (CR) stands inside the line; end lines with LF alone")
    return lines


def _without_blanks(lines: list[str], faults: Faults) -> list[tuple[int, str]]:
    filled = [(number, line) for number, line in enumerate(lines, start=1) if line.strip(" ")]
    last = filled[-1][0] if filled else 0
    if last < len(lines):
        faults.say(f"nothing but blank lines from line {last + 1} on; remove them")
    if len(filled) < last:
        for number, line in enumerate(lines[:last], start=1):
            if not line.strip(" "):
                faults.at(number, line, "blank lines are not allowed")
    return filled


def _check_indices(indices: list[tuple[int, int]], rows: int, faults: Faults) -> None:
    found = [index for _, index in indices]
    if found == list(range(rows)):
        return
    if found == list(range(1, rows + 1)):
        faults.say(f"the index counts from 1 to {rows:,}; it must count from 0 to {rows - 1:,}")
        return
    seen, highest = set[int](), -1
    for line, index in indices:
        if index >= rows:
            faults.at(line, index, f"expected an index from 0 to {rows - 1:,}")
            continue
        if index in seen:
            faults.at(line, index, "this index stands on an earlier line already; each must stand once")
        elif index < highest:
            faults.at(line, index, "out of order: rows must stand in the order of the test file, from index 0 up")
        seen.add(index)
        highest = max(highest, index)
    missing = [str(index) for index in range(rows) if index not in seen]
    if missing:
        more = f" and {len(missing) - SHOWN:,} more" if len(missing) > SHOWN else ""
        faults.say(f"no row with index {', '.join(missing[:SHOWN])}{more}; each must stand once")
