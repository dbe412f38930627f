"""Files of lines: an answer on each line in the order of the rows, without header and index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from benchrunner.errors import PluginError
from benchrunner.io.file_faults import Faults
from benchrunner.leaderboards.file_kinds.file_kind import Answers, ExpectedRows, FileKind
from benchrunner.leaderboards.file_kinds.spellings import Spelling, spell_all
from benchrunner.leaderboards.file_kinds.text_lines import encoded, filled_lines, only_answer

COMMA = ","


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

    def same_answer(self, content: bytes) -> str | None:
        return only_answer(content.decode().splitlines())

    def _check_line(self, number: int, line: str, faults: Faults) -> None:
        values = line.split(COMMA)
        if len(values) != self.values:
            each = f"{self.values} values, separated by commas" if self.values > 1 else "the answer alone"
            faults.at(number, line, f"expected {each}, without index and header")
            return
        for value in values:
            if (advice := self.spelling.advice(value)) is not None:
                faults.at(number, value, advice)
