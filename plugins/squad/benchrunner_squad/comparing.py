"""How the official scripts compare an answer with the right ones; the metrics made of that."""

from __future__ import annotations

import operator
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from benchrunner import Metric, Undefined

Comparison = Callable[[Sequence[str], str], float]
"""From a question's right answers and the given one to 0..1."""

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """Lower case, without ASCII punctuation, then without articles, single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact(right: Sequence[str], answer: str) -> float:
    """1 where the answer is one of the right ones."""
    said = normalised(answer)
    return float(any(normalised(one) == said for one in right))


def f1(right: Sequence[str], answer: str) -> float:
    """The F1 of words with the closest right answer; 0 without a word in common, and so of nothing with nothing."""
    said = normalised(answer).split()
    return max(_overlap(normalised(one).split(), said) for one in right)


def _overlap(right: list[str], said: list[str]) -> float:
    shared = (Counter(right) & Counter(said)).total()
    if not shared:
        return 0.0
    precision, recall = shared / len(said), shared / len(right)
    return 2 * precision * recall / (precision + recall)


def or_none(compare: Comparison) -> Comparison:
    """The same for questions that may have no answer, as the script for 2.0 has it.

    Right answers of which normalising leaves nothing do not count; where no other is left, nothing is the right one.
    """

    def compared(right: Sequence[str], answer: str) -> float:
        real = [one for one in right if normalised(one)]
        return compare(real, answer) if real else float(not normalised(answer))

    return compared


def percent(values: Iterable[float], count: int) -> float:
    """A mean from 0 to 100, to the official scripts' last digit.

    Added one by one: `sum` rounds otherwise from Python 3.12 on, and the published figures are older.
    """
    return 100.0 * reduce(operator.add, values, 0.0) / count


def mean(name: str, compare: Comparison) -> Metric:
    """A comparison's mean over all rows."""

    def compute(gold: Sequence[Sequence[str]], answers: Sequence[str]) -> float:
        return percent(map(compare, gold, answers), len(gold))

    return Metric(name, compute, scale=1.0, per_row=lambda right, answer: 100.0 * compare(right, answer))


def mean_where(name: str, compare: Comparison, *, answerable: bool) -> Metric:
    """Its mean over the questions that have an answer, or over those that have none."""

    def compute(gold: Sequence[Sequence[str]], answers: Sequence[str]) -> float:
        rows = [row for row in zip(gold, answers, strict=True) if bool(row[0]) == answerable]
        if not rows:
            raise Undefined(f"there are no questions {'with' if answerable else 'without'} an answer")
        return percent((compare(*row) for row in rows), len(rows))

    return Metric(name, compute, scale=1.0, detail=True)


EXACT_OR_NONE, F1_OR_NONE = or_none(exact), or_none(f1)
"""As the script for 2.0 compares."""

ANSWERED = (mean("f1", f1), mean("exact_match", exact))
"""The figures of 1.1, the headline first."""

ANSWERED_OR_NONE = (
    mean("f1", F1_OR_NONE),
    mean("exact", EXACT_OR_NONE),
    mean_where("HasAns_f1", F1_OR_NONE, answerable=True),
    mean_where("HasAns_exact", EXACT_OR_NONE, answerable=True),
    mean_where("NoAns_f1", F1_OR_NONE, answerable=False),
    mean_where("NoAns_exact", EXACT_OR_NONE, answerable=False),
)
"""The figures of 2.0."""
