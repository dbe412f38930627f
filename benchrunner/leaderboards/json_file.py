"""One JSON object: the id of each row -> its answer, a text or a number."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

from benchrunner.errors import PluginError
from benchrunner.file_faults import Faults, quoted, some
from benchrunner.leaderboards.file_kind import Answers, FileKind, Wanted
from benchrunner.leaderboards.spellings import Spelling, Text
from benchrunner.leaderboards.text_file import decoded, spelled

EXPECTED = "one JSON object, {id: answer, ...}, was"


@final
class _Object(list[tuple[str, Any]]):
    """A JSON object as its pairs, in which an id that stands twice is not lost."""


@final
@dataclass(frozen=True)
class JsonMap(FileKind):
    """The order of the ids is no matter."""

    unit: ClassVar[str] = "id"
    key: str
    """The rows' column that names them."""
    spelling: Spelling = field(default_factory=Text)

    def __post_init__(self) -> None:
        if not self.key:
            raise PluginError("A map needs the column that names the rows.")

    @property
    def compares(self) -> tuple[str, ...]:
        return (self.key,)

    def write(self, name: str, answers: Answers) -> bytes:
        assert answers.table is not None  # `compares` asked for it
        ids = answers.table.column(self.key).to_pylist()
        named = zip(map(quoted, ids), answers.values, strict=True)
        values = spelled(named, self.spelling.json_value, Faults(name, self.unit))
        return (json.dumps(dict(zip(ids, values, strict=True)), indent=4) + "\n").encode()

    def find_faults(self, content: bytes, wanted: Wanted, faults: Faults) -> None:
        pairs = _pairs(content, faults)
        if pairs is None:
            return
        for key, value in pairs:
            if (advice := self.spelling.json_advice(value)) is not None:
                faults.at(quoted(key), _described(value), advice)
        counts = Counter(key for key, _ in pairs)
        for key, count in counts.items():
            if count > 1:
                faults.at(quoted(key), f"{count} times", "each id must stand once")
        wanted.check_count(len(counts), "answer", faults)
        if wanted.table is not None:
            _compare(counts, wanted.table.column(self.key).to_pylist(), faults)


def _pairs(content: bytes, faults: Faults) -> _Object | None:
    """The object's pairs, or None where the file is none."""
    text = decoded(content, faults, expected=EXPECTED)
    if text is None:
        return None
    try:
        found = json.loads(text, object_pairs_hook=_Object)
    except RecursionError:
        faults.say("lists or objects stand too deep in one another; an answer is one text or number")
        return None
    except ValueError as error:
        faults.say(f"not valid JSON: {error}")
        return None
    if isinstance(found, _Object):
        return found
    faults.say(f"{EXPECTED} expected; the file begins with {quoted(text.lstrip(), 30)}")
    return None


def _described(value: Any) -> str:
    """A value as JSON has it; what holds others is only named."""
    if isinstance(value, list):
        return "an object" if isinstance(value, _Object) else "a list"
    return json.dumps(value)


def _compare(found: Mapping[str, int], ids: list[str], faults: Faults) -> None:
    known = set(ids)
    missing = [quoted(one) for one in ids if one not in found]
    strange = [quoted(one) for one in found if one not in known]
    if missing:
        faults.say(f"no answer to {some(missing)}; every id of the rows must be there")
    if strange:
        faults.say(f"no row has the id {some(strange)}; these may be answers to other rows")
