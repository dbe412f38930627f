"""How a JSON file spells labels that are not texts there: numbers, true and false."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from benchrunner.errors import PluginError
from benchrunner.io.file_faults import either
from benchrunner.leaderboards.file_kinds.spellings import Spelling


@final
@dataclass(frozen=True)
class JsonValues(Spelling):
    """A JSON value for each label of the task, for example 0 and 1, or true and false."""

    values: Mapping[str, str | float | bool]
    """The task's label -> the file's value. A label that is a number is given as its digits."""

    def __post_init__(self) -> None:
        if len(self.values) < 2 or len(self.labels_by_text) < len(self.values):
            raise PluginError(f"JsonValues needs two or more labels, each with its own value, not {dict(self.values)}.")

    @property
    def labels_by_text(self) -> Mapping[str, str]:
        return {json.dumps(value): label for label, value in self.values.items()}

    def write(self, answer: Any) -> str:
        return json.dumps(self.json_value(answer))

    def advice(self, text: str) -> str | None:
        return None if text in self.labels_by_text else self._expected

    def json_value(self, answer: Any) -> str | float:
        if str(answer) not in self.values:
            raise ValueError(f"expected one of the task's labels: {either(list(self.values))}")
        return self.values[str(answer)]

    def json_advice(self, value: Any) -> str | None:
        return None if json.dumps(value) in self.labels_by_text else self._expected

    @property
    def _expected(self) -> str:
        return f"expected {either(list(self.labels_by_text))}"
