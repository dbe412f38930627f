"""One answer a line in the order of the rows, without header and index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from benchrunner.errors import PluginError
from benchrunner.file_faults import Faults
from benchrunner.leaderboards.file_kind import Answers, FileKind, Wanted
from benchrunner.leaderboards.spellings import Spelling
from benchrunner.leaderboards.text_file import encoded, filled_lines, spelled

COMMA = ","


@final
@dataclass(frozen=True)
class Lines(FileKind):
    """An answer is one value, or a list of several."""

    spelling: Spelling
    values: int = 1
    """On a line, separated by commas."""

    def __post_init__(self) -> None:
        if self.values < 1:
            raise PluginError(f"A line has one value or more, not {self.values}.")

    @property
    def meanings(self) -> Mapping[str, str]:
        return self.spelling.meanings

    def bound(self, rows: int) -> int:
        return 2**20 + 64 * rows * self.values

    def write(self, name: str, answers: Answers) -> bytes:
        return encoded(spelled(enumerate(answers.values), self._line, Faults(name, "answer")))

    def _line(self, answer: Any) -> str:
        return COMMA.join(self.spelling.write(one) for one in self._listed(answer))

    def _listed(self, answer: Any) -> Sequence[Any]:
        if self.values == 1:
            return [answer]
        if not isinstance(answer, (list, tuple)) or len(answer) != self.values:
            raise ValueError(f"expected {self.values} values")
        return answer

    def find_faults(self, content: bytes, wanted: Wanted, faults: Faults) -> None:
        lines = filled_lines(content, faults, expected="one line for each row was")
        if lines:
            wanted.check_count(len(lines), "line", faults)
        for number, line in lines:
            self._check_line(number, line, faults)

    def _check_line(self, number: int, line: str, faults: Faults) -> None:
        fields = line.split(COMMA)
        if len(fields) != self.values:
            each = f"{self.values} values, separated by commas" if self.values > 1 else "the answer alone"
            faults.at(number, line, f"expected {each}: no index and no header belong here")
            return
        for field in fields:
            if (advice := self.spelling.advice(field)) is not None:
                faults.at(number, field, advice)
