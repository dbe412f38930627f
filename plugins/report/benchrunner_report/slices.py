"""Shares of right answers by length and by label, and confusion matrices, from the answers of all restarts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, final

from benchrunner.results import AnsweredRows

MOST_LABELS = 12
"""Largest number of labels for which a report shows a confusion matrix and right answers by label."""
PARTS = 4
"""Number of parts into which rows are divided by their lengths."""


@final
@dataclass(frozen=True)
class Slice:
    """Some rows of a split with the share of right answers of each backbone."""

    name: str
    rows: int
    shares: Mapping[str, float]
    """Backbone -> share of right answers, over the rows and restarts."""

    @property
    def percentages(self) -> dict[str, float]:
        """The shares in percent."""
        return {backbone: 100 * share for backbone, share in self.shares.items()}


@final
@dataclass(frozen=True)
class Confusion:
    """Confusion matrix of a backbone: how often rows with a gold label were answered with each label."""

    backbone: str
    labels: tuple[str, ...]
    counts: tuple[tuple[float, ...], ...]
    """Gold label x answered label, in the order of `labels`: mean count over the restarts."""
    unit: str
    """What is counted: `rows`, or `words` in tasks that label words."""


def slices_by_length(rows: AnsweredRows) -> tuple[Slice, ...]:
    """Divide the rows by their number of words into slices with about the same number of rows."""
    import numpy as np

    lengths = np.array(word_counts(rows))
    borders = np.unique(np.quantile(lengths, np.linspace(0, 1, PARTS + 1)[1:-1], method="higher"))
    parts = np.searchsorted(borders, lengths, side="left")
    slices = []
    for part in range(len(borders) + 1):
        members = np.flatnonzero(parts == part)
        if len(members):
            low, high = int(lengths[members].min()), int(lengths[members].max())
            name = f"{low} words" if low == high else f"{low} to {high} words"
            slices.append(_slice(name, members.tolist(), rows))
    return tuple(slices)


def slices_by_label(rows: AnsweredRows) -> tuple[Slice, ...]:
    """Group the rows by their gold label; empty if gold has one label only, or more than `MOST_LABELS`."""
    members: dict[str, list[int]] = {}
    for row, label in enumerate(rows.gold or ()):
        if not isinstance(label, str | int):
            return ()
        members.setdefault(str(label), []).append(row)
    if not 1 < len(members) <= MOST_LABELS:
        return ()
    return tuple(_slice(name, members[name], rows) for name in sorted(members))


def _slice(name: str, members: Sequence[int], rows: AnsweredRows) -> Slice:
    import numpy as np

    shares = {backbone: float(np.array(right)[:, members].mean()) for backbone, right in rows.right.items()}
    return Slice(name, len(members), shares)


def word_counts(rows: AnsweredRows) -> list[int]:
    """Count the words of all texts of each row."""
    counts = [0] * len(rows.rows)
    for name in rows.text_columns:
        for row, value in enumerate(rows.rows.table.column(name).to_pylist()):
            counts[row] += sum(len(text.split()) for text in _texts(value))
    return counts


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (text for text in value if isinstance(text, str))


def confusions(rows: AnsweredRows) -> tuple[Confusion, ...]:
    """Make the confusion matrix of each backbone; empty if answers are no labels, or of more than `MOST_LABELS`."""
    gold = rows.gold or ()
    of_words = bool(gold) and all(isinstance(value, list) for value in gold)
    if of_words and "words" not in rows.rows.table.column_names:
        return ()
    flat = list(chain.from_iterable(gold)) if of_words else list(gold)
    if not flat or not all(isinstance(value, str | int) for value in flat):
        return ()
    answers: dict[str, list[list[Any]]] = {}
    seen = set(flat)
    for backbone, restarts in rows.answers.items():
        answers[backbone] = [list(chain.from_iterable(restart)) if of_words else restart for restart in restarts]
        seen.update(*answers[backbone])
    labels = [label for label in getattr(rows.task.problem, "labels", ()) if label in seen] or sorted(seen, key=str)
    if not 1 < len(labels) <= MOST_LABELS or not seen <= set(labels):
        return ()
    unit = "words" if of_words else "rows"
    return tuple(_confusion(name, labels, flat, restarts, unit) for name, restarts in answers.items())


def _confusion(
    backbone: str, labels: Sequence[Any], gold: Sequence[Any], restarts: Sequence[Sequence[Any]], unit: str
) -> Confusion:
    from sklearn.metrics import confusion_matrix

    number_of = {label: number for number, label in enumerate(labels)}
    truth = [number_of[label] for label in gold] * len(restarts)
    answers = [number_of[answer] for restart in restarts for answer in restart]
    total = confusion_matrix(truth, answers, labels=list(range(len(labels))))
    means = (total / len(restarts)).tolist()
    return Confusion(backbone, tuple(map(str, labels)), tuple(map(tuple, means)), unit)
