"""The texts that a task learns from: which rows of other splits stand there too, and further faults of rows."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, final

from benchrunner import Rows, Task, some_names

STANDS, SHARES = "stand in train", "share a text with train"
"""What is said of rows that are training rows too, and of rows of which a text is in a training row."""
AGAIN = "stand there again with another label"
Form = Callable[[str], str]
"""Returns what is compared of a text."""


def plain(text: str) -> str:
    """Return a text without differences of case, of white space, and of ways to write a character (Unicode NFKC)."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def inputs(task: Task, rows: Rows, form: Form) -> list[tuple[Any, ...]]:
    """Return what a model reads of each row: texts in a form; lists, which are no texts, in a tuple."""
    problem = task.problem
    others = {*problem.label_columns, *task.kept_columns, task.clusters}
    names = problem.line_columns or [name for name in rows.table.column_names if name not in others]
    columns = []
    for name in names:
        values = rows.table.column(name).to_pylist()
        columns.append([form(value) if isinstance(value, str) else (form(repr(value)),) for value in values])
    return list(zip(*columns, strict=True))


@final
class TrainingTexts:
    """The texts of a task's training rows, with which the rows of other splits are compared."""

    def __init__(self, task: Task, train: Rows) -> None:
        self._task = task
        self._train = train
        self._sets = dict[Form, tuple[set[Any], set[Any]]]()

    def seen(self, rows: Rows, form: Form = plain) -> dict[str, list[int]]:
        """Return the numbers of the rows that are in train, as a whole and with one of their texts.

        Texts are compared in a form; `str` takes them as they are.
        """
        if form not in self._sets:
            train = inputs(self._task, self._train, form)
            self._sets[form] = set(train), set(chain.from_iterable(train))
        whole, texts = self._sets[form]
        found: dict[str, list[int]] = {STANDS: [], SHARES: []}
        for number, row in enumerate(inputs(self._task, rows, form)):
            if row in whole:
                found[STANDS].append(number)
            if len(row) > 1 and any(part in texts for part in row if part and isinstance(part, str)):
                found[SHARES].append(number)
        return found

    def remarks(self, split: str, rows: Rows, least: float = 0.0) -> Iterator[str]:
        """Describe faults of a split's rows: of train, equal texts with different labels; else, rows that are in train.

        `least` is the share of the split's rows from which their number is told.
        """
        if split == self._task.train:
            found = {AGAIN: self._contradicting()}
        else:
            found = self.seen(rows)
            if found[SHARES] == found[STANDS]:
                del found[SHARES]
        for what, numbers in found.items():
            if numbers and len(numbers) >= least * len(rows):
                exact = numbers if what == AGAIN else self.seen(rows, str)[what]
                by_letter = "" if len(exact) == len(numbers) else f" ({len(exact):,} letter by letter)"
                yield f"{len(numbers):,} of {len(rows):,} rows of {split} {what}{by_letter}"
        yield from _on_labels(self._task, split, rows)

    def _contradicting(self) -> list[int]:
        """Return the numbers of the training rows whose texts occur with two labels or more."""
        rows = inputs(self._task, self._train, plain)
        labels = dict[Any, str]()
        several = set[Any]()
        for row, label in zip(rows, self._task.problem.gold(self._train.table) or (), strict=True):
            if labels.setdefault(row, repr(label)) != repr(label):
                several.add(row)
        return [number for number, row in enumerate(rows) if row in several]


def _on_labels(task: Task, split: str, rows: Rows) -> Iterator[str]:
    """Say which of a task's labels no row of a split has."""
    labels = getattr(task.problem, "labels", ())
    gold = task.problem.gold(rows.table) if labels else None
    if gold is None:
        return
    held = set[Any]()
    for label in gold:
        held.update(label if isinstance(label, list) else [label])
    missing = [label for label in labels if label not in held]
    if missing:
        yield f"no row of {split} has the label {some_names(missing, 5)}"
