"""How a file spells an answer of any number of labels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, final

from benchrunner.errors import PluginError
from benchrunner.leaderboards.file_kinds.spellings import Labels, Spelling


@final
@dataclass(frozen=True)
class LabelList(Spelling):
    """Any number of labels, as `MultiLabel` answers: a list of texts in JSON, joined texts in other files."""

    labels: Labels
    """The text of each label."""
    separator: str = ","
    """Separates the texts in files that are not JSON."""
    empty: str = ""
    """Text for "no label" in files that are not JSON. Files of lines need one, because their lines cannot be empty."""

    def __post_init__(self) -> None:
        texts = list(self.labels.labels_by_text)
        if not self.separator or any(self.separator in text or text == self.empty for text in texts):
            raise PluginError(
                f"The texts {texts} need a separator that none of them has, and another text for 'no label'."
            )

    def write(self, answer: Any) -> str:
        return self.separator.join(self.json_value(answer)) or self.empty

    def advice(self, text: str) -> str | None:
        return None if text == self.empty else self.json_advice(text.split(self.separator))

    def json_value(self, answer: Any) -> list[str]:
        if not isinstance(answer, list):
            raise ValueError("expected a list of the task's labels")
        return [self.labels.write(label) for label in answer]

    def json_advice(self, value: Any) -> str | None:
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            return "expected a list of labels, each in quotes"
        if any(count > 1 for count in Counter(value).values()):
            return "a label is there twice; each may be there once"
        return next((advice for text in value if (advice := self.labels.advice(text)) is not None), None)
