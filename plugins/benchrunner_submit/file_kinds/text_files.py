"""Text files: tables and files of lines, and what all text files share: encoding, line ends and blank lines."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from benchrunner import Faults, PluginError, quoted, some_names
from benchrunner_submit.file_kinds.file_kind import Answers, ExpectedRows, FileKind
from benchrunner_submit.file_kinds.spellings import LabelList, Spelling, spell_all

COMMA = ","
TAB = "\t"

_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")
_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"7z\xbc\xaf": "7-Zip",
}
"""First bytes of compressed files -> the format's name."""


_FURTHER_LINES = 10_000
"""Number of lines beyond twice the expected number that a file may have for every line to be checked."""


@final
@dataclass(frozen=True)
class Table(FileKind):
    """A table with a row for each row of the test file. The index counts from 0."""

    header: tuple[str, str]
    """Names of the two columns, index and answer."""
    spelling: Spelling

    def __post_init__(self) -> None:
        if len(self.header) != 2 or len(set(self.header)) != 2:
            raise PluginError(f"A table's header is two different names, index and answer, not {list(self.header)}.")
        for name in self.header:
            if not name or not name.isprintable() or name != name.strip():
                raise PluginError(f"A column's name is one printable word, not {quoted(name)}.")

    @property
    def labels_by_text(self) -> Mapping[str, str]:
        return self.spelling.labels_by_text

    def max_bytes(self, rows: int) -> int:
        return 2**20 + 64 * rows  # an index, an answer, and room for numbers with all their digits

    def write(self, name: str, answers: Answers) -> bytes:
        texts = spell_all(enumerate(answers.values), self.spelling.write, Faults(name, "answer"))
        lines = [TAB.join(self.header)]
        for index, text in enumerate(texts):
            lines.append(f"{index}{TAB}{text}")
        return encoded(lines)

    def find_faults(self, content: bytes, expected: ExpectedRows, faults: Faults) -> None:
        lines = filled_lines(content, faults, expected="a header and one line for each row were", rows=expected.count)
        if not lines:
            return
        body = self._below_header(lines, faults)
        expected.check_count(len(body), "row", faults)
        indices = self._indices(body, faults)
        is_complete = len(indices) == len(body) > 0
        _check_indices(indices, expected.count, faults, complete=is_complete)

    def answer_texts(self, content: bytes) -> list[str]:
        return [line.split(TAB)[-1] for line in content.decode().splitlines()[1:]]

    def _below_header(self, lines: list[tuple[int, str]], faults: Faults) -> list[tuple[int, str]]:
        """Check the header and return the lines below it; a first line that begins with a number is no header."""
        number, first = lines[0]
        header = TAB.join(self.header)
        if first == header:
            return lines[1:]
        begins_with_row = re.match(r"[\"']?[0-9]+\b", first) is not None
        fault = "there is no header line" if begins_with_row else "wrong header"
        faults.say(f"line {number}: {fault}: expected {quoted(header)}, separated by a TAB, found {quoted(first)}")
        return lines if begins_with_row else lines[1:]

    def _indices(self, body: list[tuple[int, str]], faults: Faults) -> list[tuple[int, int]]:
        """List line and index of each row that has an index, and add the faults of columns and answers."""
        indices = list[tuple[int, int]]()
        for line, text in body:
            fields = text.split(TAB)
            if len(fields) != 2:
                faults.at(line, text, "expected 2 columns, separated by one TAB")
                continue
            index, answer = fields
            if _INDEX.fullmatch(index):
                indices.append((line, int(index)))
            else:
                faults.at(line, index, "expected an index: a whole number, without quotes, spaces or decimals")
            self.spelling.check(line, answer, faults)
        return indices


def _check_indices(indices: list[tuple[int, int]], rows: int, faults: Faults, *, complete: bool) -> None:
    """Add the faults of the indices. Missing ones are reported only if every line has an index (`complete`)."""
    numbers = [index for _, index in indices]
    if numbers == list(range(rows)):
        return
    if numbers == list(range(1, rows + 1)):
        faults.say(f"the index counts from 1 to {rows:,}; it must count from 0 to {rows - 1:,}")
        return
    seen = set[int]()
    highest = -1
    for line, index in indices:
        if index >= rows:
            faults.at(line, index, f"expected an index from 0 to {rows - 1:,}")
            continue
        if index in seen:
            faults.at(line, index, "an earlier line has this index already; each index must be there once")
        elif index < highest:
            faults.at(line, index, "out of order: rows must be in the order of the test file, from index 0 up")
        seen.add(index)
        highest = max(highest, index)
    missing = [str(index) for index in range(rows) if index not in seen]
    if missing and complete:
        faults.say(f"no row with index {some_names(missing, 3)}; each index must be there once")


@final
@dataclass(frozen=True)
class Lines(FileKind):
    """A line for each row. An answer is one value, or a list of values separated by commas."""

    spelling: Spelling
    """How each value is spelled."""
    values: int = 1
    """Number of values on a line."""

    def __post_init__(self) -> None:
        if self.values < 1:
            raise PluginError(f"A line has one value or more, not {self.values}.")
        if isinstance(self.spelling, LabelList) and not self.spelling.empty:
            raise PluginError("A line is never empty: say in 'empty' how 'no label' is written, such as none.")

    @property
    def labels_by_text(self) -> Mapping[str, str]:
        return self.spelling.labels_by_text

    def max_bytes(self, rows: int) -> int:
        return 2**20 + 64 * rows * self.values

    def write(self, name: str, answers: Answers) -> bytes:
        return encoded(spell_all(enumerate(answers.values), self._line, Faults(name, "answer")))

    def _line(self, answer: Any) -> str:
        return COMMA.join(self.spelling.write(value) for value in self._values_of(answer))

    def _values_of(self, answer: Any) -> Sequence[Any]:
        if self.values == 1:
            return [answer]
        if not isinstance(answer, (list, tuple)) or len(answer) != self.values:
            raise ValueError(f"expected {self.values} values")
        return answer

    def find_faults(self, content: bytes, expected: ExpectedRows, faults: Faults) -> None:
        lines = filled_lines(content, faults, expected="one line for each row was", rows=expected.count)
        if lines:
            expected.check_count(len(lines), "line", faults)
        for number, line in lines:
            self._check_line(number, line, faults)

    def answer_texts(self, content: bytes) -> list[str]:
        return content.decode().splitlines()

    def _check_line(self, number: int, line: str, faults: Faults) -> None:
        values = line.split(COMMA)
        if len(values) != self.values:
            expected = f"{self.values} values, separated by commas" if self.values > 1 else "the answer alone"
            faults.at(number, line, f"expected {expected}, without index and header")
            return
        for value in values:
            self.spelling.check(number, value, faults)


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
    if text is None:
        return []
    count = text.count("\n")
    if count > 2 * rows + _FURTHER_LINES:
        faults.say(f"{count:,} lines, where {rows:,} rows are expected; it may be another file")
        return []
    lines = lines_of(text, faults)
    last = len(lines)
    while last and not lines[last - 1].strip(" "):
        last -= 1
    if last < len(lines):
        faults.say(f"only blank lines from line {last + 1} on; remove them")
    filled = list[tuple[int, str]]()
    for number, line in enumerate(lines[:last], start=1):
        if line.strip(" "):
            filled.append((number, line))
        else:
            faults.at(number, line, "blank lines are not allowed")
    return filled
