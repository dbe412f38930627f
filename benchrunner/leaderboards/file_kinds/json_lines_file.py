"""Files of JSON lines: an object on each line, with the id of a row and its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from benchrunner.errors import PluginError
from benchrunner.io.file_faults import Faults, quoted
from benchrunner.leaderboards.file_kinds.file_kind import Answers, ExpectedRows, FileKind
from benchrunner.leaderboards.file_kinds.spellings import Spelling, spell_all
from benchrunner.leaderboards.file_kinds.text_lines import encoded, filled_lines


@final
@dataclass(frozen=True)
class JsonLines(FileKind):
    """A line for each row: {"idx": 0, "label": "yes"}. The lines may be in any order."""

    column: str
    """Column of the rows that holds the ids: texts or whole numbers."""
    spelling: Spelling
    """How the answers are spelled."""
    keys: tuple[str, str] = ("idx", "label")
    """Keys of the id and of the answer."""

    def __post_init__(self) -> None:
        if len(self.keys) != 2 or len(set(self.keys)) != 2 or not all(self.keys) or not self.column:
            raise PluginError(
                f"A file of JSON lines needs the rows' column with the ids and two different keys, not {self.keys}."
            )

    @property
    def row_columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def labels_by_text(self) -> Mapping[str, str]:
        return self.spelling.labels_by_text

    def write(self, name: str, answers: Answers) -> bytes:
        assert answers.table is not None  # a file of `row_columns` is written with the rows only
        ids = answers.table.column(self.column).to_pylist()
        values = spell_all(
            zip(map(str, ids), answers.values, strict=True), self.spelling.json_value, Faults(name, "id")
        )
        return encoded(json.dumps(dict(zip(self.keys, pair, strict=True))) for pair in zip(ids, values, strict=True))

    def find_faults(self, content: bytes, expected: ExpectedRows, faults: Faults) -> None:
        lines = filled_lines(content, faults, expected="one JSON object for each row was", rows=expected.count)
        if not lines:
            return
        line_of: dict[Any, int] = {}
        for number, line in lines:
            if (pair := self._pair(number, line, faults)) is None:
                continue
            row_id, value = pair
            if (advice := self.spelling.json_advice(value)) is not None:
                faults.at(number, json.dumps(value), advice)
            if row_id in line_of:
                faults.at(number, row_id, "an earlier line has this id already; each id must be there once")
            line_of.setdefault(row_id, number)
        expected.check_count(len(lines), "line", faults)
        expected.check_ids(line_of, self.column, faults)

    def _pair(self, number: int, line: str, faults: Faults) -> tuple[Any, Any] | None:
        """Return the id and the answer of a line; None, with a fault, where the line is no such object."""
        try:
            pairs = json.loads(line, object_pairs_hook=list)
        except json.JSONDecodeError as error:
            faults.at(number, line, f"not valid JSON ({error.msg})")
            return None
        except (ValueError, RecursionError):  # numbers of thousands of digits, brackets a thousand deep
            faults.at(number, line, "not JSON that can be read")
            return None
        is_object = line.lstrip().startswith("{")
        if not is_object or sorted(key for key, _ in pairs) != sorted(self.keys):
            faults.at(number, line, f"expected an object with the keys {' and '.join(map(quoted, self.keys))} alone")
            return None
        values = dict(pairs)
        row_id = values[self.keys[0]]
        if type(row_id) not in (int, str):
            faults.at(number, json.dumps(row_id), "expected an id: a whole number or a text")
            return None
        return row_id, values[self.keys[1]]
