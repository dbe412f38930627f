"""Files of JSON: one object from ids to answers, or an object with an id and an answer on each line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

from benchrunner import Faults, PluginError, quoted
from benchrunner_submit.file_kinds.file_kind import Answers, ExpectedRows, FileKind
from benchrunner_submit.file_kinds.spellings import Spelling, Text, spell_all
from benchrunner_submit.file_kinds.text_files import decoded, encoded, filled_lines

EXPECTED = "one JSON object, {id: answer, ...}, was"


@final
class _Pairs(list[tuple[str, Any]]):
    """A JSON object as the list of its pairs, which keeps an id that is there twice."""


@final
@dataclass(frozen=True)
class JsonMap(FileKind):
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

    def max_bytes(self, rows: int) -> int:
        return 2**20 + 1024 * rows  # ids and short texts, with room for escapes

    def write(self, name: str, answers: Answers) -> bytes:
        ids = answers.column(self.key)
        names = [quoted(row_id) for row_id in ids]
        faults = Faults(name, self.unit)
        values = spell_all(zip(names, answers.values, strict=True), self.spelling.json_value, faults)
        content = dict(zip(ids, values, strict=True))
        return (json.dumps(content, indent=4) + "\n").encode()

    def find_faults(self, content: bytes, expected: ExpectedRows, faults: Faults) -> None:
        pairs = _pairs(content, faults)
        if pairs is None:
            return
        counts = Counter[str]()
        for key, value in pairs:
            counts[key] += 1
            advice = self.spelling.json_advice(value)
            if advice is not None:
                faults.at(quoted(key), _described(value), advice)
        for key, count in counts.items():
            if count > 1:
                faults.at(quoted(key), f"{count} times", "each id must be there once")
        expected.check_count(len(counts), "answer", faults)
        expected.check_ids(counts, self.row_columns, faults)

    def answer_texts(self, content: bytes) -> list[str]:
        return list(map(json.dumps, json.loads(content).values()))


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
        ids = answers.column(self.column)
        names = [str(row_id) for row_id in ids]
        faults = Faults(name, "id")
        values = spell_all(zip(names, answers.values, strict=True), self.spelling.json_value, faults)
        id_key, answer_key = self.keys
        lines = list[str]()
        for row_id, value in zip(ids, values, strict=True):
            lines.append(json.dumps({id_key: row_id, answer_key: value}))
        return encoded(lines)

    def find_faults(self, content: bytes, expected: ExpectedRows, faults: Faults) -> None:
        lines = filled_lines(content, faults, expected="one JSON object for each row was", rows=expected.count)
        if not lines:
            return
        line_of: dict[Any, int] = {}
        for number, line in lines:
            pair = self._pair(number, line, faults)
            if pair is None:
                continue
            row_id, value = pair
            advice = self.spelling.json_advice(value)
            if advice is not None:
                faults.at(number, json.dumps(value), advice)
            if row_id in line_of:
                faults.at(number, row_id, "an earlier line has this id already; each id must be there once")
            line_of.setdefault(row_id, number)
        expected.check_count(len(lines), "line", faults)
        expected.check_ids(line_of, self.row_columns, faults)

    def answer_texts(self, content: bytes) -> list[str]:
        return [json.dumps(json.loads(line)[self.keys[1]]) for line in content.decode().split("\n") if line.strip()]

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
        id_key, answer_key = self.keys
        is_object = line.lstrip().startswith("{")
        if not is_object or sorted(key for key, _ in pairs) != sorted(self.keys):
            faults.at(number, line, f"expected an object with the keys {quoted(id_key)} and {quoted(answer_key)} alone")
            return None
        values = dict(pairs)
        row_id = values[id_key]
        if type(row_id) not in (int, str):
            faults.at(number, json.dumps(row_id), "expected an id: a whole number or a text")
            return None
        return row_id, values[answer_key]


def _pairs(content: bytes, faults: Faults) -> _Pairs | None:
    """Read the pairs of a file's object; None, with a fault, where the file is no JSON object."""
    text = decoded(content, faults, expected=EXPECTED)
    if text is None:
        return None
    try:
        value = json.loads(text, object_pairs_hook=_Pairs)
    except RecursionError:
        faults.say("lists or objects are nested too deep; an answer is one text or number")
        return None
    except json.JSONDecodeError as error:
        hint = "; write one object for the whole file" if error.msg == "Extra data" else ""
        faults.say(f"not valid JSON: line {error.lineno}, column {error.colno}: {error.msg}{hint}")
        return None
    except ValueError:  # Python refuses to read a whole number of more than 4,300 digits
        faults.say("not valid JSON: it has a number of thousands of digits")
        return None
    if isinstance(value, _Pairs):
        return value
    faults.say(f"{EXPECTED} expected; the file begins with {quoted(text.lstrip(), 30)}")
    return None


def _described(value: Any) -> str:
    """Show a value as JSON writes it; a list or an object is only named."""
    if isinstance(value, list):
        return "an object" if isinstance(value, _Pairs) else "a list"
    return json.dumps(value)
