"""Text files with an entry for each row: tables and lines, and what all text files share: encoding and line ends."""

from __future__ import annotations

import codecs
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

from benchrunner import Faults, PluginError, quoted
from benchrunner_submit.file_kinds.file_kind import Answers, ExpectedRows, FileKind
from benchrunner_submit.file_kinds.spellings import LabelList, Spelling

COMMA = ","
TAB = "\t"
Entry = tuple[int | str, Any, str]
"""An answer in a file: its line or its other place, the id of its row (None without one), and its text."""

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


class RowsFile(FileKind):
    """A layout: how entries, each with the answer to a row, stand in a text file. A spelling writes and reads answers.

    An entry is a line, unless a layout overrides `joined` and `parts`.
    """

    spelling: Spelling

    @property
    def labels_by_text(self) -> Mapping[str, str]:
        return self.spelling.labels_by_text

    @abstractmethod
    def write_entry(self, row_id: Any, answer: Any) -> Any:
        """Write the entry of a row; raises a `ValueError` with what was expected of the answer."""

    @abstractmethod
    def read_entry(self, place: Any, part: Any, faults: Faults) -> Entry:
        """Read an entry and add its faults."""

    def joined(self, entries: Iterable[Any]) -> bytes:
        """Join what `write_entry` wrote to a file."""
        return encoded(entries)

    def parts(self, text: str, rows: int, faults: Faults) -> Iterable[tuple[int | str, Any]]:
        """Split a file into what `read_entry` reads, each after its place; raises a `ValueError` if that fails."""
        return filled_lines(text, rows, faults)

    def check_order(self, entries: Sequence[Entry], rows: int, faults: Faults) -> Sequence[Entry]:
        """Add a fault if entries must be in the order of the rows and are not; return the entries to check further."""
        return entries

    def write(self, name: str, answers: Answers) -> bytes:
        columns = self.row_columns
        ids = answers.column(columns[0]) if columns else range(len(answers.values))
        faults = Faults(name, "id" if columns else "answer")
        entries = []
        for row_id, answer in zip(ids, answers.values, strict=True):
            try:
                entries.append(self.write_entry(row_id, answer))
            except ValueError as expected:
                faults.at(quoted(row_id), answer, str(expected))
        faults.refuse()
        return self.joined(entries)

    def read(self, content: bytes, expected: ExpectedRows, faults: Faults) -> Sequence[str]:
        entries = [
            self.read_entry(place, part, faults)
            for place, part in self.parts(decoded(content, faults), expected.count, faults)
        ]
        expected.check_count(len(entries), "answer", faults)
        ids = [(place, row_id) for place, row_id, _ in self.check_order(entries, expected.count, faults)]
        expected.check_ids(ids, faults, columns=self.row_columns)
        return [text for _, _, text in entries]


@final
@dataclass(frozen=True)
class Table(RowsFile):
    """A table with a row for each row of the test file. The index counts from 0."""

    row_bytes: ClassVar[int] = 64  # an index, an answer, and room for numbers with all their digits
    header: tuple[str, str]
    """Names of the two columns, index and answer."""
    spelling: Spelling

    def __post_init__(self) -> None:
        if len(self.header) != 2 or len(set(self.header)) != 2:
            raise PluginError(f"A table's header is two different names, index and answer, not {list(self.header)}.")
        for name in self.header:
            if not name or not name.isprintable() or name != name.strip():
                raise PluginError(f"A column's name is one printable word, not {quoted(name)}.")

    def write_entry(self, row_id: Any, answer: Any) -> str:
        return f"{row_id}{TAB}{self.spelling.write(answer)}"

    def joined(self, entries: Iterable[str]) -> bytes:
        return encoded([TAB.join(self.header), *entries])

    def parts(self, text: str, rows: int, faults: Faults) -> list[tuple[int, str]]:
        (number, first), *lines = filled_lines(text, rows, faults)
        header = TAB.join(self.header)
        if first != header:
            faults.say(f"line {number}: expected the header {quoted(header)}, with a TAB, found {quoted(first)}")
            if re.match(r"[\"']?[0-9]+\b", first):  # it is the first row
                lines.insert(0, (number, first))
        return lines

    def read_entry(self, place: int, part: str, faults: Faults) -> Entry:
        index, *answers = part.split(TAB)
        if len(answers) != 1:
            faults.at(place, part, "expected 2 columns, separated by one TAB")
            return place, None, part
        is_index = _INDEX.fullmatch(index) is not None
        if not is_index:
            faults.at(place, index, "expected an index: a whole number, without quotes, spaces or decimals")
        return place, int(index) if is_index else None, self.spelling.read(place, answers[0], faults)

    def check_order(self, entries: Sequence[Entry], rows: int, faults: Faults) -> Sequence[Entry]:
        if [index for _, index, _ in entries] == list(range(1, rows + 1)):
            faults.say(f"the index counts from 1 to {rows:,}; it must count from 0 to {rows - 1:,}")
            return [(line, None, answer) for line, _, answer in entries]
        highest = -1
        for line, index, _ in entries:
            if index is not None and index < rows:
                if index < highest:
                    faults.at(line, index, "out of order: rows must be in the order of the test file, from index 0 up")
                highest = max(highest, index)
        return entries


@final
@dataclass(frozen=True)
class Lines(RowsFile):
    """A line for each row. An answer is one value, or a list of values separated by commas."""

    row_bytes: ClassVar[int] = 512
    spelling: Spelling
    """How each value is spelled."""
    values: int = 1
    """Number of values on a line."""

    def __post_init__(self) -> None:
        if self.values < 1:
            raise PluginError(f"A line has one value or more, not {self.values}.")
        if isinstance(self.spelling, LabelList) and not self.spelling.empty:
            raise PluginError("A line is never empty: say in 'empty' how 'no label' is written, such as none.")

    def write_entry(self, row_id: Any, answer: Any) -> str:
        values = [answer] if self.values == 1 else answer
        if not isinstance(values, (list, tuple)) or len(values) != self.values:
            raise ValueError(f"expected {self.values} values")
        return COMMA.join(map(self.spelling.write, values))

    def read_entry(self, place: int, part: str, faults: Faults) -> Entry:
        values = part.split(COMMA)
        if len(values) != self.values:
            expected = f"{self.values} values, separated by commas" if self.values > 1 else "the answer alone"
            faults.at(place, part, f"expected {expected}, without index and header")
            values = []
        for value in values:
            self.spelling.read(place, value, faults)
        return place, None, part


def encoded(lines: Iterable[str]) -> bytes:
    """Encode lines as UTF-8, each with a line feed at its end."""
    return "".join(f"{line}\n" for line in lines).encode()


def decoded(content: bytes, faults: Faults) -> str:
    """Decode a text file and add the faults of its encoding; raises a `ValueError` if there is no text."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError("UTF-16 text; save it as UTF-8")
    if content.startswith(codecs.BOM_UTF8):
        faults.say("begins with a byte order mark (BOM); save it as UTF-8 without one")
        content = content.removeprefix(codecs.BOM_UTF8)
    if not content.strip():
        raise ValueError("the file is empty; an answer to each row was expected")
    for start, name in _COMPRESSED.items():
        if content.startswith(start):
            raise ValueError(f"compressed with {name}; unpack it")
    if b"\0" in content:
        raise ValueError("not a text file: it holds zero bytes; expected UTF-8 text")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"line {line}: not UTF-8 text; save it as UTF-8") from None


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


def filled_lines(text: str, rows: int, faults: Faults) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers; blank lines are added as faults.

    A file with many more lines than `rows` is another file, and the list would take memory: it is a `ValueError`.
    """
    count = text.count("\n")
    if count > 2 * rows + _FURTHER_LINES:
        raise ValueError(f"{count:,} lines, where {rows:,} rows are expected; it may be another file")
    lines = lines_of(text, faults)
    last = len(lines)
    while not lines[last - 1].strip(" "):
        last -= 1
    if last < len(lines):
        faults.say(f"only blank lines from line {last + 1} on; remove them")
    for number, line in enumerate(lines[:last], start=1):
        if line.strip(" "):
            yield number, line
        else:
            faults.at(number, line, "blank lines are not allowed")
