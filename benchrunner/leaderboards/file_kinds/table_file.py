"""Tables: a header, then lines of index, TAB and answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from benchrunner.errors import PluginError
from benchrunner.io.file_faults import Faults, first_names, quoted
from benchrunner.leaderboards.file_kinds.file_kind import Answers, ExpectedRows, FileKind
from benchrunner.leaderboards.file_kinds.spellings import Spelling, spell_all
from benchrunner.leaderboards.file_kinds.text_lines import encoded, filled_lines, only_answer

TAB = "\t"

_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")


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
        return encoded([TAB.join(self.header), *(f"{index}{TAB}{text}" for index, text in enumerate(texts))])

    def find_faults(self, content: bytes, expected: ExpectedRows, faults: Faults) -> None:
        lines = filled_lines(content, faults, expected="a header and one line for each row were", rows=expected.count)
        if not lines:
            return
        body = self._below_header(lines, faults)
        expected.check_count(len(body), "row", faults)
        indices = self._indices(body, faults)
        _check_indices(indices, expected.count, faults, complete=len(indices) == len(body) > 0)

    def same_answer(self, content: bytes) -> str | None:
        return only_answer(line.split(TAB)[-1] for line in content.decode().splitlines()[1:])

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


def _check_indices(indices: list[tuple[int, int]], rows: int, faults: Faults, *, complete: bool) -> None:
    """Add the faults of the indices. Missing ones are reported only if every line has an index (`complete`)."""
    numbers = [index for _, index in indices]
    if numbers == list(range(rows)):
        return
    if numbers == list(range(1, rows + 1)):
        faults.say(f"the index counts from 1 to {rows:,}; it must count from 0 to {rows - 1:,}")
        return
    seen, highest = set[int](), -1
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
        faults.say(f"no row with index {first_names(missing)}; each index must be there once")
