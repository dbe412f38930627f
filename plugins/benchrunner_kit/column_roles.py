"""Columns of a table of unknown meaning, by their names and values: texts, pairs of texts, labels and numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

CLASSES = 50
"""The most labels of a classification."""
_PAIRS = (
    ("sentence1", "sentence2"),
    ("text1", "text2"),
    ("text_a", "text_b"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("query", "passage"),
    ("a", "b"),
)
_NO_TEXT = re.compile(r"(.*[_ -])?(id|ids|uid|guid|uuid|idx|index|key|url|date|time|split)", re.IGNORECASE)
"""Names of columns that hold no text to read."""
Columns = Mapping[str, Sequence[Any]]


def named(columns: Columns, names: Sequence[str]) -> str | None:
    """Return the first column whose name is one of some names, in any case."""
    by_name = {name.casefold(): name for name in columns}
    return next((by_name[name] for name in names if name in by_name), None)


def repeated(columns: Columns) -> str | None:
    """Return the last column of few short values that repeat."""
    for name in reversed(list(columns)):
        values = {written(value) for value in columns[name]}
        is_short = all(len(value) <= 40 for value in values)
        if is_short and 2 <= len(values) <= min(CLASSES, len(columns[name]) // 2):
            return name
    return None


def known_pair(columns: Columns) -> list[str | None] | None:
    """Return the two columns of a usual pair of texts."""
    for names in _PAIRS:
        found = [named(columns, [name]) for name in names]
        if all(found):
            return found
    return None


def two_texts(columns: Columns, label: str) -> list[str | None] | None:
    """Return the columns of a pair of texts in their order, if two columns beside the label hold texts."""
    texts: list[str | None] = []
    for name in _texts(columns, {label}):
        values = columns[name]
        is_category = len(set(values)) <= len(values) // 2 and not any(" " in value.strip() for value in values)
        if not _NO_TEXT.fullmatch(name) and not is_category:
            texts.append(name)
    return texts if len(texts) == 2 else None


def longest_text(columns: Columns, taken: set[str]) -> str | None:
    """Return the column with the longest texts on average, among those that are not taken."""
    return max(_texts(columns, taken), key=lambda name: sum(map(len, columns[name])), default=None)


def _texts(columns: Columns, taken: set[str]) -> list[str]:
    """List the columns of texts that are not taken and hold no numbers."""
    texts = []
    for name, values in columns.items():
        if name not in taken and all(isinstance(value, str) for value in values) and numbers_of(values) is None:
            texts.append(name)
    return texts


def numbers_of(values: Sequence[Any]) -> list[float] | None:
    """Return the values as numbers; None if one of them is no number."""
    numbers = []
    for value in values:
        if isinstance(value, bool) or not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", str(value)):
            return None
        numbers.append(float(value))
    return numbers or None


def written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
