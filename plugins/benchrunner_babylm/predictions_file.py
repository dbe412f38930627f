"""The file of a task's predictions, as the challenge's own fine-tuning writes it and its collation reads it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

from benchrunner import Faults, PluginError
from benchrunner_submit import Answers, ExpectedRows, FileKind

PARSE_ERRORS = (ValueError, RecursionError)
"""What `json` raises for text that is no JSON, numbers of thousands of digits and brackets a thousand deep."""


@final
@dataclass(frozen=True)
class PredictionsFile(FileKind):
    """One JSON object: {"boolq": {"predictions": [{"id": "boolq_0", "pred": 0}, ...]}}.

    The rows are in the order of the validation file and counted from 0: the challenge compares them by their order.
    """

    unit: ClassVar[str] = "prediction"
    key: str
    """Name of the task in the file."""
    answers: int
    """Number of possible answers; predictions are whole numbers from 0."""

    def __post_init__(self) -> None:
        if not self.key or self.answers < 2:
            raise PluginError(f"A file of predictions needs a key and two possible answers or more, not {self}.")

    def write(self, name: str, answers: Answers) -> bytes:
        known, faults = [str(number) for number in range(self.answers)], Faults(name, self.unit)
        for row, answer in enumerate(answers.values):
            if answer not in known:
                faults.at(self._id(row), answer, f"expected a whole number from 0 to {self.answers - 1}")
        faults.refuse()
        predictions = [{"id": self._id(row), "pred": int(answer)} for row, answer in enumerate(answers.values)]
        return (json.dumps({self.key: {"predictions": predictions}}) + "\n").encode()

    def read(self, content: bytes, expected: ExpectedRows, faults: Faults) -> Sequence[str]:
        try:
            value = json.loads(content.decode())
        except PARSE_ERRORS:
            raise ValueError("not JSON that can be read") from None
        inner = value.get(self.key) if isinstance(value, dict) and list(value) == [self.key] else None
        predictions = inner.get("predictions") if isinstance(inner, dict) and list(inner) == ["predictions"] else None
        if not isinstance(predictions, list):
            form = f'{{"{self.key}": {{"predictions": [{{"id": "{self._id(0)}", "pred": 0}}, ...]}}}}'
            raise ValueError(f"expected the one object {form}")
        expected.check_count(len(predictions), "prediction", faults)
        return [self._read(row, prediction, faults) for row, prediction in enumerate(predictions)]

    def _read(self, row: int, prediction: Any, faults: Faults) -> str:
        """Return the prediction of a row as text, and add the faults that it has."""
        if not isinstance(prediction, dict) or set(prediction) != {"id", "pred"}:
            faults.at(row, json.dumps(prediction), 'expected an object with the keys "id" and "pred" alone')
            return ""
        if prediction["id"] != self._id(row):
            advice = f"the ids must count from {self._id(0)} on, in the order of the validation file"
            faults.at(row, json.dumps(prediction["id"]), advice)
        if type(prediction["pred"]) is not int or not 0 <= prediction["pred"] < self.answers:
            faults.at(row, json.dumps(prediction["pred"]), f"expected a whole number from 0 to {self.answers - 1}")
        return str(prediction["pred"])

    def _id(self, row: int) -> str:
        return f"{self.key}_{row}"
