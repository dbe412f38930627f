"""Files of JSON: one object from ids to answers, or an object with an id and an answer on each line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

from benchrunner import Faults, PluginError, quoted
from benchrunner_submit.file_kinds.spellings import Pairs, Spelling, Text, described
from benchrunner_submit.file_kinds.text_files import Entry, RowsFile


@final
@dataclass(frozen=True)
class JsonMap(RowsFile):
    """A JSON object from ids to answers. The ids may be in any order."""

    unit: ClassVar[str] = "id"
    key: str
    """Column of the rows that holds the ids."""
    spelling: Spelling = field(default_factory=Text)

    def __post_init__(self) -> None:
        if not self.key:
            raise PluginError("A JSON map needs the name of the rows' column with the ids.")

    @property
    def row_columns(self) -> tuple[str, ...]:
        return (self.key,)

    def write_entry(self, row_id: Any, answer: Any) -> tuple[Any, Any]:
        return row_id, self.spelling.json_value(answer)

    def joined(self, entries: Iterable[tuple[Any, Any]]) -> bytes:
        return (json.dumps(dict(entries), indent=4) + "\n").encode()

    def parts(self, text: str, rows: int, faults: Faults) -> Iterable[tuple[str, Any]]:
        try:
            pairs = _pairs(text)
        except ValueError as reason:
            raise ValueError(f"expected one JSON object, {{id: answer, ...}}: {reason}") from None
        return [(quoted(pair[0]), pair) for pair in pairs]

    def read_entry(self, place: str, part: tuple[str, Any], faults: Faults) -> Entry:
        row_id, value = part
        return place, row_id, self.spelling.read_json(place, value, faults)


@final
@dataclass(frozen=True)
class JsonLines(RowsFile):
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

    def write_entry(self, row_id: Any, answer: Any) -> str:
        id_key, answer_key = self.keys
        return json.dumps({id_key: row_id, answer_key: self.spelling.json_value(answer)})

    def read_entry(self, place: int, part: str, faults: Faults) -> Entry:
        id_key, answer_key = self.keys
        try:
            pairs = _pairs(part)
        except ValueError:
            pairs = Pairs()
        if sorted(key for key, _ in pairs) != sorted(self.keys):
            faults.at(
                place, part, f"expected a JSON object with the keys {quoted(id_key)} and {quoted(answer_key)} alone"
            )
            return place, None, part
        values = dict(pairs)
        row_id = values[id_key]
        if type(row_id) not in (int, str):
            faults.at(place, described(row_id), "expected an id: a whole number or a text")
            row_id = None
        return place, row_id, self.spelling.read_json(place, values[answer_key], faults)


def _pairs(text: str) -> Pairs:
    """Read a JSON object as its pairs; raises a `ValueError` with the reason if the text is no such object."""
    try:
        value = json.loads(text, object_pairs_hook=Pairs)
    except RecursionError:
        raise ValueError("lists or objects are nested too deep") from None
    if not isinstance(value, Pairs):
        raise ValueError(f"the file begins with {quoted(text.lstrip(), 30)}")
    return value
