"""How a file spells an answer: texts or JSON values for labels, lists of labels, numbers, or the text itself."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, final

from benchrunner import Faults, PluginError, either, quoted
from benchrunner.engine import decoding

Spelled = TypeVar("Spelled")

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


class Spelling(ABC):
    """How a file spells one answer."""

    @abstractmethod
    def write(self, answer: Any) -> str:
        """Spell an answer; raises `ValueError` with what was expected."""

    @abstractmethod
    def advice(self, text: str) -> str | None:
        """Say what was expected and what to do where a text is wrong; None where the text is right."""

    def check(self, line: int, text: str, faults: Faults) -> None:
        """Add a fault to a line of a file if its text is wrong."""
        advice = self.advice(text)
        if advice is not None:
            faults.at(line, text, advice)

    @property
    def labels_by_text(self) -> Mapping[str, str]:
        """Text -> the task's label; empty where answers are not labels."""
        return {}

    def json_value(self, answer: Any) -> str | float | list[str]:
        """Spell an answer as a JSON value: a text, a number or a list of texts; raises `ValueError` as `write` does."""
        return self.write(answer)

    def json_advice(self, value: Any) -> str | None:
        """Say what was expected where a JSON value is wrong; None where the value is right."""
        return self.advice(value) if isinstance(value, str) else "expected a text, in quotes"


@final
@dataclass(frozen=True)
class Text(Spelling):
    """Any text, unchanged."""

    def write(self, answer: Any) -> str:
        if not isinstance(answer, str):
            raise ValueError("expected a text")
        return answer

    def advice(self, text: str) -> str | None:
        return None


@final
@dataclass(frozen=True)
class Labels(Spelling):
    """A text for each label of the task."""

    texts: Mapping[str, str] = field(metadata=decoding.key_of("labels"))
    """The task's label -> the file's text. A label that is a number is given as its digits."""

    def __post_init__(self) -> None:
        if len(self.texts) < 2:
            raise PluginError(
                "Labels map two or more labels of the task to their texts in the file, such as "
                f"{{'0': 'no', '1': 'yes'}}, not {dict(self.texts)}."
            )
        if len(set(self.texts.values())) < len(self.texts):
            raise PluginError(f"Two labels share one text: {dict(self.texts)}.")
        for text in self.texts.values():
            if not text.isprintable() or text != text.strip() or not text:
                raise PluginError(f"A label's text is one printable word or number, not {quoted(text)}.")

    @cached_property
    def labels_by_text(self) -> Mapping[str, str]:
        return {text: label for label, text in self.texts.items()}

    def _label_like(self, name: str) -> str | None:
        """Return the label whose text or name this is, up to case and punctuation."""
        labels = {_fold(label): label for label in self.texts}
        for label, text in self.texts.items():
            labels[_fold(text)] = label
        return labels.get(_fold(name))

    def write(self, answer: Any) -> str:
        text = self.texts.get(str(answer)) if isinstance(answer, (str, int)) else None
        if text is None:
            raise ValueError(f"expected one of the task's labels: {either(list(self.texts))}")
        return text

    def advice(self, text: str) -> str | None:
        if text in self.labels_by_text:
            return None
        expected = f"expected {either(list(self.labels_by_text))}"
        bare = _bare(text)
        if bare in self.labels_by_text:
            return f"{expected}, without quotes or spaces around it"
        label = self._label_like(bare)
        if label is not None:
            right = self.texts[label]
            return f"{expected}: write exactly {right}" if right == label else f"{expected}: write {right} for {label}"
        if _NUMBER.fullmatch(bare):
            return self._number_advice(expected, bare)
        return expected

    def _number_advice(self, expected: str, bare: str) -> str:
        numbers = [float(text) for text in self.labels_by_text if _NUMBER.fullmatch(text)]
        if not numbers:
            return f"{expected}: write the name of the label, because tools number the labels differently"
        return f"{expected}, without decimals or signs" if float(bare) in numbers else expected


@final
@dataclass(frozen=True)
class Number(Spelling):
    """A number in a range. Writing clips a number outside of the range; checking reports it."""

    low: float
    high: float
    decimals: int | None = None
    """Number of decimals to write; None writes all digits."""
    outside: str = ""
    """What a number outside of the range means, and what to do. If given, writing refuses such a number too."""

    def __post_init__(self) -> None:
        decimals = self.decimals or 0
        if not self.low < self.high or not 0 <= decimals <= 17:
            raise PluginError(f"A number needs low < high and 0 to 17 decimals, not {self}.")
        if self.decimals is not None and (round(self.low, decimals), round(self.high, decimals)) != (
            self.low,
            self.high,
        ):
            raise PluginError(f"{self.low:g} to {self.high:g} cannot be written with {decimals} decimals.")

    def write(self, answer: Any) -> str:
        try:
            number = float(answer)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise ValueError("expected a finite number")
        if self.outside and not self.low <= number <= self.high:
            raise ValueError(f"{self._expected}: {self.outside}")
        clipped = min(max(number, self.low), self.high)
        if self.decimals is None:
            return repr(clipped + 0.0)  # -0.0 + 0.0 is 0.0, which avoids '-0.000'
        return f"{round(clipped, self.decimals) + 0.0:.{self.decimals}f}"

    def advice(self, text: str) -> str | None:
        if not _NUMBER.fullmatch(text):
            if _NUMBER.fullmatch(_bare(text)):
                return f"{self._expected}, without quotes or spaces around it"
            return f"{self._expected}, with a decimal point; nan and inf are not allowed"
        if self.low <= float(text) <= self.high:
            return None
        return f"{self._expected}: {self.outside or 'clip numbers outside of this range'}"

    def json_value(self, answer: Any) -> float:
        return float(self.write(answer))

    def json_advice(self, value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return f"{self._expected}, without quotes"
        return self.advice(repr(value))

    @property
    def _expected(self) -> str:
        return f"expected a number from {self.low:g} to {self.high:g}"


@final
@dataclass(frozen=True)
class JsonValues(Spelling):
    """A JSON value for each label of the task, for example 0 and 1, or true and false."""

    values: Mapping[str, str | int | float | bool] = field(metadata=decoding.key_of("labels"))
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
        if not self.separator or self.empty in texts or any(self.separator in text for text in texts):
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
        if len(set(value)) < len(value):
            return "a label is there twice; each may be there once"
        for text in value:
            advice = self.labels.advice(text)
            if advice is not None:
                return advice
        return None


def spell_all(
    answers: Iterable[tuple[int | str, Any]], spell: Callable[[Any], Spelled], faults: Faults
) -> list[Spelled]:
    """Spell every answer, each given with its name. Raises a `RequestError` that names all unwritable answers."""
    spelled = list[Spelled]()
    for name, answer in answers:
        try:
            spelled.append(spell(answer))
        except ValueError as expected:
            faults.at(name, answer, str(expected))
    faults.refuse()
    return spelled


def _fold(label: str) -> str:
    """Ignore case, and the difference between spaces, hyphens and underscores."""
    return re.sub(r"[\s_-]+", "_", label.casefold())


def _bare(text: str) -> str:
    """Remove quotes and white space around a text."""
    return text.strip(" \t\r\v\f\"'\u201c\u201d\u00a0")
