"""Compares answers with the right ones as the official scripts do, and makes metrics of the comparisons."""

from __future__ import annotations

import operator
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from benchrunner import Metric, Undefined

Comparison = Callable[[Sequence[str], str], float]
"""Compares a question's right answers with the given answer: a value from 0 to 1."""
RowValues = list[tuple[bool, float]]
"""For each row: whether its question has an answer, and the value of a comparison."""

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """Lower the case, remove ASCII punctuation, then articles, and join the words by single spaces."""
    bare = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact(right: Sequence[str], answer: str) -> float:
    """Return 1 if the normalised answer equals a normalised right answer, else 0."""
    given = normalised(answer)
    return 1.0 if any(normalised(text) == given for text in right) else 0.0


def f1(right: Sequence[str], answer: str) -> float:
    """Compute the highest F1 of words over the right answers.

    Without a word in common the F1 is 0, also if both texts have no words.
    """
    given = normalised(answer).split()
    return max(_overlap(normalised(text).split(), given) for text in right)


def _overlap(right: list[str], given: list[str]) -> float:
    shared = (Counter(right) & Counter(given)).total()
    if not shared:
        return 0.0
    precision = shared / len(given)
    recall = shared / len(right)
    return 2 * precision * recall / (precision + recall)


def or_none(compare: Comparison) -> Comparison:
    """Extend a comparison to questions that may have no answer, as the script for SQuAD 2.0 does.

    Right answers that are empty after normalising are ignored. If no right answer is left, the empty answer is right.
    """

    def compared(right: Sequence[str], answer: str) -> float:
        filled = [text for text in right if normalised(text)]
        return compare(filled, answer) if filled else float(not normalised(answer))

    return compared


def percent(values: Iterable[float], count: int) -> float:
    """Compute a mean from 0 to 100, equal to the official scripts' to the last digit.

    The values are added one after another, because `sum` rounds differently from Python 3.12 on.
    """
    return 100.0 * _sum(values) / count


def _sum(values: Iterable[float]) -> float:
    return reduce(operator.add, values, 0.0)


def compare_rows(compare: Comparison) -> Callable[[Sequence[Sequence[str]], Sequence[str]], RowValues]:
    """Make the function that compares the answer of every row. Metrics of one comparison share its result."""

    def compute(gold: Sequence[Sequence[str]], answers: Sequence[str]) -> RowValues:
        return [(bool(right), compare(right, answer)) for right, answer in zip(gold, answers, strict=True)]

    return compute


def mean(rows: RowValues) -> float:
    """Compute the mean over all rows, a fraction."""
    return _sum([value for _, value in rows]) / len(rows)


def mean_answerable(rows: RowValues) -> float:
    """Compute the mean over the questions that have an answer."""
    return _mean_where(rows, answerable=True)


def mean_unanswerable(rows: RowValues) -> float:
    """Compute the mean over the questions that have no answer."""
    return _mean_where(rows, answerable=False)


def _mean_where(rows: RowValues, *, answerable: bool) -> float:
    values = [value for has_answer, value in rows if has_answer == answerable]
    if not values:
        raise Undefined(f"there are no questions {'with' if answerable else 'without'} an answer")
    return _sum(values) / len(values)


def _metrics(name: str, compare: Comparison) -> tuple[Metric, Metric, Metric]:
    """Make the metric of a comparison, and its details for questions with and without an answer."""
    compute = compare_rows(compare)

    def detail(kind: str, figure: Callable[[RowValues], float]) -> Metric:
        return Metric(f"{kind}_{name}", compute, figure=figure, detail=True)

    headline = Metric(name, compute, figure=mean, per_row=compare)
    return headline, detail("HasAns", mean_answerable), detail("NoAns", mean_unanswerable)


EXACT_OR_NONE = or_none(exact)
"""The exact match of the script for SQuAD 2.0."""
F1_OR_NONE = or_none(f1)
"""The F1 of the script for SQuAD 2.0."""

ANSWERED = (_metrics("f1", f1)[0], _metrics("exact_match", exact)[0])
"""The metrics of SQuAD 1.1, the headline first."""

_F1, _HAS_F1, _NO_F1 = _metrics("f1", F1_OR_NONE)
_EXACT, _HAS_EXACT, _NO_EXACT = _metrics("exact", EXACT_OR_NONE)

ANSWERED_OR_NONE = (_F1, _EXACT, _HAS_F1, _HAS_EXACT, _NO_F1, _NO_EXACT)
"""The metrics of SQuAD 2.0, the headline first."""
