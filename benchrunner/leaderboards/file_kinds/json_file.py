"""JSON maps: one object, from the id of each row to its answer, a text or a number."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

from benchrunner.errors import PluginError
from benchrunner.io.file_faults import Faults, quoted
from benchrunner.leaderboards.file_kinds.file_kind import Answers, ExpectedRows, FileKind
from benchrunner.leaderboards.file_kinds.spellings import Spelling, Text, spell_all
from benchrunner.leaderboards.file_kinds.text_lines import decoded, only_answer

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
        assert answers.table is not None  # a file of `row_columns` is written with the rows only
        ids = answers.table.column(self.key).to_pylist()
        named_answers = zip(map(quoted, ids), answers.values, strict=True)
        values = spell_all(named_answers, self.spelling.json_value, Faults(name, self.unit))
        return (json.dumps(dict(zip(ids, values, strict=True)), indent=4) + "\n").encode()

    def find_faults(self, content: bytes, expected: ExpectedRows, faults: Faults) -> None:
        pairs = _pairs(content, faults)
        if pairs is None:
            return
        for key, value in pairs:
            if (advice := self.spelling.json_advice(value)) is not None:
                faults.at(quoted(key), _described(value), advice)
        counts = Counter(key for key, _ in pairs)
        for key, count in counts.items():
            if count > 1:
                faults.at(quoted(key), f"{count} times", "each id must be there once")
        expected.check_count(len(counts), "answer", faults)
        expected.check_ids(counts, self.key, faults)

    def same_answer(self, content: bytes) -> str | None:
        return only_answer(map(_described, json.loads(content).values()))


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
        lines = "; write one object for the whole file" if error.msg == "Extra data" else ""
        faults.say(f"not valid JSON: line {error.lineno}, column {error.colno}: {error.msg}{lines}")
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
