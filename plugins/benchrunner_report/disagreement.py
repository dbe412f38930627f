"""The rows in which systems differ: one is right and another is wrong, or their grades differ."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from benchrunner_kinds import iob_tags
from benchrunner_report.drawings.scale import TINY
from benchrunner_report.grading import Grading
from benchrunner_report.visible_text import visible
from benchrunner_statistics import AnsweredRows

MOST_ROWS = 300
"""Largest number of rows of one task in a report."""
ALL_BYTES = 1_300_000
"""Largest size of the rows of all tasks in a report, in bytes."""
LONGEST_ANSWER = 300
"""Largest number of characters of an answer in a report."""

Row = dict[str, Any]
"""A row for the page. `n`: its number from 0; `t`: its texts; `g`: gold; `a`: for each system, lists of an answer, the
number of restarts that gave it, and its grade; `d`: the largest difference between two systems in the mean grade of
their restarts, from 0 to 1."""


@final
@dataclass(frozen=True)
class Disagreement:
    """The rows of a split in which systems differ; for a single system, the rows that it does not answer best."""

    task: str
    split: str
    rule: str
    """The rule by which an answer is right, or better than another."""
    unit: str
    """What grades are, see `Grading.unit`; empty for right and wrong."""
    sign: int
    """-1 where grades are errors below zero, which pages show above zero; else 1."""
    systems: tuple[str, ...]
    columns: tuple[str, ...]
    """Names of the texts of a row."""
    rows: tuple[Row, ...]
    differing: int
    """Number of rows in which systems differ; a report may show fewer."""
    total: int
    """Number of rows of the split."""

    @classmethod
    def of(cls, rows: AnsweredRows, grading: Grading, *, most_bytes: int = ALL_BYTES) -> Disagreement:
        """Collect the rows in which systems differ: one is right and another is wrong, or their mean grades differ.

        A system is right if more than half of its restarts are. The rows with the largest difference come first, rows
        with equal differences in the order of the file. At most `MOST_ROWS` rows and about `most_bytes` bytes are
        taken. With a single system, the rows that it answers wrong are collected, or those below the best grade.
        """
        import numpy as np

        means = {system: grades.mean(axis=0) for system, grades in grading.grades.items()}
        levels = means
        if not grading.unit:
            levels = {system: (mean > 0.5).astype(float) for system, mean in means.items()}
        stacked = np.stack(list(means.values()))
        decided = np.stack(list(levels.values()))
        if len(means) == 1:  # compared with the best that any row has
            best = 1.0 if not grading.unit else stacked.max()
            stacked = np.vstack([stacked, np.full_like(stacked, best)])
            decided = np.vstack([decided, np.full_like(decided, best)])
        strength = np.ptp(stacked, axis=0)
        strength /= max(strength.max(), 1.0)  # a page sorts the rows of all tasks together
        differing = np.flatnonzero(np.ptp(decided, axis=0) > TINY).tolist()
        differing.sort(key=lambda row: -strength[row])
        columns = _shown_columns(rows)
        chosen = list[Row]()
        left = most_bytes
        for number in differing[:MOST_ROWS]:
            row = _row(rows, grading, columns, number)
            row["d"] = round(float(strength[number]), 3)
            left -= len(json.dumps(row, ensure_ascii=False).encode(errors="replace"))
            if left < 0:
                break
            chosen.append(row)
        return cls(
            task=rows.task.name,
            split=rows.split,
            rule=grading.rule,
            unit=grading.unit,
            sign=-1 if grading.scale < 0 else 1,
            systems=tuple(rows.answers),
            columns=tuple(columns),
            rows=tuple(chosen),
            differing=len(differing),
            total=len(rows.rows),
        )

    @property
    def shown(self) -> str:
        """A sentence that says which rows are shown, of how many."""
        what = "systems differ in" if len(self.systems) > 1 else "its only system is wrong or below the best in"
        text = f"{self.task}: {what} {self.differing:,} of {self.total:,} rows of {self.split}"
        if len(self.rows) < self.differing:
            left_out = self.differing - len(self.rows)
            text += f"; the {len(self.rows):,} rows that differ most are shown, and {left_out:,} left out"
        return f"{text}."

    @property
    def as_json(self) -> dict[str, Any]:
        """The rows with what the page's script must know of the task."""
        return {"name": self.task, "columns": self.columns, "unit": self.unit, "sign": self.sign, "rows": self.rows}


def _shown_columns(rows: AnsweredRows) -> list[str]:
    """Name the columns to show: texts but for `id`, and lists; of several lists only `words`, if there is one."""
    table = rows.rows.table
    names = rows.text_columns
    shown = []
    for name in names:
        value = table.column(name)[0].as_py()
        is_words = name == "words" or "words" not in names
        if name != "id" and (isinstance(value, str) or (isinstance(value, list) and is_words)):
            shown.append(name)
    return shown


def _row(rows: AnsweredRows, grading: Grading, columns: Sequence[str], number: int) -> Row:
    """Return a row for the page, without the difference of the systems."""
    table = rows.rows.table
    gold = (rows.gold or ())[number]
    values = {name: table.column(name)[number].as_py() for name in columns}
    words = values.get("words")
    answers = []
    for system, restarts in rows.answers.items():
        given = Counter[tuple[str, float]]()
        for answers_of, grades in zip(restarts, grading.grades[system], strict=True):
            shown = float(grades[number]) * abs(grading.scale if grading.unit else 1.0)
            given[_spelled(answers_of[number], words), round(shown, 2)] += 1
        answers.append([[text, count, grade] for (text, grade), count in given.most_common()])
    return {"n": number, "t": list(map(_text, values.values())), "g": _spelled(gold, words), "a": answers}


def _text(value: Any) -> str:
    """Write the text of a row: words with blanks between them, and several texts or places as a numbered list."""
    if not isinstance(value, list):
        return visible(str(value))
    texts = [str(text) for text in value]
    if all(len(text.split()) <= 1 for text in texts):
        return visible(" ".join(texts))
    return "\n".join(f"{number}. {visible(text)}" for number, text in enumerate(texts))


def _spelled(answer: Any, words: Sequence[str] | None) -> str:
    """Write an answer as text. Labels of words are written as `word/label`, and only where the label is not `O`."""
    if isinstance(answer, list):
        if words is None or len(words) != len(answer):
            return visible(" | ".join(map(str, answer)) or "(none)", LONGEST_ANSWER)
        labelled = [f"{word}/{label}" for word, label in zip(words, answer, strict=True) if label != iob_tags.OUTSIDE]
        return visible(" ".join(labelled) or "no labelled word", LONGEST_ANSWER)
    if isinstance(answer, float):
        return f"{answer:.2f}"
    return visible(str(answer), LONGEST_ANSWER) or "(empty)"
