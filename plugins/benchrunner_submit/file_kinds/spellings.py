"""How a file spells an answer: texts or JSON values for labels, lists of labels, numbers, or the text itself."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

from benchrunner import Faults, PluginError, quoted
from benchrunner.engine import decoding

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


@final
class Pairs(tuple[tuple[str, Any], ...]):
    """A JSON object as its pairs, which keep a key that is there twice."""


def either(names: Iterable[str]) -> str:
    """Join names by commas and 'or': '0 or 1'; 'a, b or c'."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


class Spelling(ABC):
    """How a file spells one answer."""

    @abstractmethod
    def write(self, answer: Any) -> str:
        """Spell an answer; raises `ValueError` with what was expected."""

    @abstractmethod
    def advice(self, text: str) -> str | None:
        """Say what was expected and what to do where a text is wrong; None where the text is right."""

    def read(self, place: int | str, text: str, faults: Faults) -> str:
        """Return the text of an answer at a line or another place of a file; add a fault if the text is wrong."""
        advice = self.advice(text)
        if advice is not None:
            faults.at(place, text, advice)
        return text

    @property
    def labels_by_text(self) -> Mapping[str, str]:
        """Text -> the task's label; empty where answers are not labels."""
        return {}

    def json_value(self, answer: Any) -> str | float | list[str | float]:
        """Spell an answer as a JSON value: a text, a number or a list of texts; raises `ValueError` as `write` does."""
        return self.write(answer)

    def json_advice(self, value: Any) -> str | None:
        """Say what was expected where a JSON value is wrong; None where the value is right."""
        return self.advice(value) if isinstance(value, str) else "expected a text, in quotes"

    def read_json(self, place: int | str, value: Any, faults: Faults) -> str:
        """Return an answer that is a JSON value as a text; add a fault if the value is wrong."""
        advice = self.json_advice(value)
        if advice is None:
            return json.dumps(value)
        faults.at(place, described(value), advice)
        return ""


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
    """A text for each label of the task, or another value in JSON, such as 0 and 1."""

    texts: Mapping[str, str | int | float | bool] = field(metadata=decoding.key_of("labels"))
    """The task's label -> the file's text or value. A label that is a number is given as its digits."""

    def __post_init__(self) -> None:
        if len(self.texts) < 2:
            raise PluginError(
                "Labels map two or more labels of the task to their texts in the file, such as "
                f"{{'0': 'no', '1': 'yes'}}, not {dict(self.texts)}."
            )
        if len(self.labels_by_text) < len(self.texts):
            raise PluginError(f"Two labels share one text: {dict(self.texts)}.")
        for text in self.labels_by_text:
            if not text.isprintable() or text != text.strip() or not text:
                raise PluginError(f"A label's text is one printable word or number, not {quoted(text)}.")

    @cached_property
    def labels_by_text(self) -> Mapping[str, str]:
        return {self.write(label): label for label in self.texts}

    def _label_like(self, name: str) -> str | None:
        """Return the label whose text or name this is, up to case and punctuation."""
        labels = {_fold(label): label for label in self.texts}
        for text, label in self.labels_by_text.items():
            labels[_fold(text)] = label
        return labels.get(_fold(name))

    def write(self, answer: Any) -> str:
        value = self.json_value(answer)
        return value if isinstance(value, str) else json.dumps(value)

    def json_value(self, answer: Any) -> str | float:
        if str(answer) not in self.texts:
            raise ValueError(f"expected one of the task's labels: {either(self.texts)}")
        return self.texts[str(answer)]

    def json_advice(self, value: Any) -> str | None:
        values = self.texts.values()
        if all(isinstance(own, str) for own in values):
            return super().json_advice(value)
        is_known = any(type(value) is type(own) and value == own for own in values)
        return None if is_known else f"expected {either(self.labels_by_text)}"

    def advice(self, text: str) -> str | None:
        if text in self.labels_by_text:
            return None
        expected = f"expected {either(self.labels_by_text)}"
        bare = _bare(text)
        if bare in self.labels_by_text:
            return f"{expected}, without quotes or spaces around it"
        label = self._label_like(bare)
        if label is not None:
            right = self.write(label)
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
        return self.separator.join(map(self.labels.write, _list(answer))) or self.empty

    def json_value(self, answer: Any) -> list[str | float]:
        return list(map(self.labels.json_value, _list(answer)))

    def advice(self, text: str) -> str | None:
        return None if text == self.empty else _list_advice(text.split(self.separator), self.labels.advice)

    def json_advice(self, value: Any) -> str | None:
        if not isinstance(value, list):
            return "expected a list of labels"
        return _list_advice(value, self.labels.json_advice)


def _list(answer: Any) -> list[Any]:
    if not isinstance(answer, list):
        raise ValueError("expected a list of the task's labels")
    return answer


def _list_advice(values: Sequence[Any], advice_for: Callable[[Any], str | None]) -> str | None:
    """Say what is wrong in a list of labels; None where nothing is."""
    for value in values:
        advice = advice_for(value)
        if advice is not None:
            return advice
    return "a label is there twice; each may be there once" if len(set(values)) < len(values) else None


def described(value: Any) -> str:
    """Show a value of JSON; a list or an object, which may be nested deep, is only named."""
    if isinstance(value, (list, Pairs)):
        return "a list" if isinstance(value, list) else "an object"
    return json.dumps(value)


def _fold(label: str) -> str:
    """Ignore case, and the difference between spaces, hyphens and underscores."""
    return re.sub(r"[\s_-]+", "_", label.casefold())


def _bare(text: str) -> str:
    """Remove quotes and white space around a text."""
    return text.strip(" \t\r\v\f\"'\u201c\u201d\u00a0")
