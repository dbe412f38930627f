"""The rows where one backbone is right and another is wrong."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, final

from benchrunner import iob_tags
from benchrunner.results import AnsweredRows
from benchrunner_report.visible_text import visible

MOST_ROWS = 300
"""Largest number of rows of one task in a report."""
ALL_BYTES = 1_300_000
"""Largest size of the rows of all tasks in a report, in bytes."""
LONGEST_ANSWER = 300
"""Largest number of characters of an answer in a report."""

Row = dict[str, Any]
"""A row for the page. `n`: its number from 0; `t`: its texts; `g`: gold; `a`: for each backbone, lists of an answer,
the number of restarts that gave it, and whether it is right (1 or 0); `d`: the largest difference between two
backbones in the share of right restarts."""


@final
@dataclass(frozen=True)
class Agreement:
    """Numbers of rows that both, only one or none of two backbones answer right.

    A backbone answers a row right if more than half of its restarts do.
    """

    first: str
    second: str
    both: int
    only_first: int
    only_second: int
    neither: int


@final
@dataclass(frozen=True)
class Disagreement:
    """The rows of a split in which backbones differ; for a single backbone, the rows that it answers wrong."""

    task: str
    split: str
    rule: str
    """The rule by which an answer is right."""
    backbones: tuple[str, ...]
    columns: tuple[str, ...]
    """Names of the texts of a row."""
    rows: tuple[Row, ...]
    differing: int
    """Number of rows in which backbones differ; a report may show fewer."""
    total: int
    """Number of rows of the split."""
    agreements: tuple[Agreement, ...]

    @property
    def shown(self) -> str:
        """A sentence that says which rows are shown, of how many."""
        if len(self.backbones) < 2:
            kind, order = "its only backbone is wrong in", "with the largest share of wrong restarts"
        else:
            kind, order = "backbones differ in", "with the largest difference in the share of right restarts"
        text = f"{self.task}: {kind} {self.differing:,} of {self.total:,} rows of {self.split}"
        if len(self.rows) < self.differing:
            text += f"; the {len(self.rows):,} rows {order} are shown, and {self.differing - len(self.rows):,} left out"
        return f"{text}."


def disagreement(rows: AnsweredRows, *, most_bytes: int = ALL_BYTES) -> Disagreement:
    """Collect the rows in which one backbone is right and another is wrong.

    A backbone is right if more than half of its restarts are. The rows with the largest difference come first, rows
    with equal differences in the order of the file. At most `MOST_ROWS` rows and about `most_bytes` bytes are taken.
    With a single backbone, the rows that it answers wrong are collected.
    """
    import numpy as np

    shares = {backbone: np.array(right).mean(axis=0) for backbone, right in rows.right.items()}
    stacked = np.stack(list(shares.values()))
    decided = stacked > 0.5
    if len(stacked) == 1:
        differ = ~decided[0]
        strength = 1 - stacked[0]
    else:
        differ = decided.any(axis=0) & ~decided.all(axis=0)
        strength = stacked.max(axis=0) - stacked.min(axis=0)
    order = sorted(np.flatnonzero(differ).tolist(), key=lambda row: (-strength[row], row))
    columns = _shown_columns(rows)
    chosen = list[Row]()
    left = most_bytes
    for number in order[:MOST_ROWS]:
        row = _row(rows, columns, number, float(strength[number]))
        left -= len(json.dumps(row, ensure_ascii=False).encode(errors="replace"))
        if left < 0:
            break
        chosen.append(row)
    rule = rows.rule
    return Disagreement(
        task=rows.task.name,
        split=rows.split,
        rule="" if rule is None else rule.rule,
        backbones=tuple(rows.answers),
        columns=tuple(columns),
        rows=tuple(chosen),
        differing=len(order),
        total=len(rows.rows),
        agreements=tuple(_agreements(tuple(shares), decided)),
    )


def _agreements(names: Sequence[str], decided: Any) -> Iterator[Agreement]:
    for first, second in combinations(range(len(names)), 2):
        a, b = decided[first], decided[second]
        counts = [int(rows.sum()) for rows in (a & b, a & ~b, ~a & b, ~a & ~b)]
        yield Agreement(names[first], names[second], *counts)


def _shown_columns(rows: AnsweredRows) -> list[str]:
    """Name the columns of texts that a reader needs. Beside the column `words`, other lists are left out."""
    table = rows.rows.table
    names = rows.text_columns
    firsts = {name: table.column(name)[0].as_py() for name in names}
    lists = [name for name in names if isinstance(firsts[name], list)]
    left_out = {"id", *([name for name in lists if name != "words"] if "words" in lists else ())}
    return [name for name in names if name not in left_out and isinstance(firsts[name], str | list)]


def _row(rows: AnsweredRows, columns: Sequence[str], number: int, strength: float) -> Row:
    table = rows.rows.table
    gold = (rows.gold or ())[number]
    values = {name: table.column(name)[number].as_py() for name in columns}
    words = values.get("words")
    answers = []
    for backbone, restarts in rows.answers.items():
        given = Counter(
            (_spelled(answers_of[number], words), right[number])
            for answers_of, right in zip(restarts, rows.right[backbone], strict=True)
        )
        answers.append([[text, count, int(right)] for (text, right), count in given.most_common()])
    return {
        "n": number,
        "t": [_text(value) for value in values.values()],
        "g": _spelled(gold, words),
        "a": answers,
        "d": round(strength, 3),
    }


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
        if words is not None and len(words) == len(answer):
            answer = [f"{word}/{label}" for word, label in zip(words, answer, strict=True) if label != iob_tags.OUTSIDE]
            return visible(" ".join(answer) or "no labelled word", LONGEST_ANSWER)
        return visible(" | ".join(map(str, answer)) or "(none)", LONGEST_ANSWER)
    if isinstance(answer, float):
        return f"{answer:.2f}"
    return visible(str(answer), LONGEST_ANSWER) or "(empty)"
