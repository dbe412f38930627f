"""The metrics of SuperGLUE that the core does not have: entities of ReCoRD, answers of MultiRC, pairs of Winogender."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from benchrunner import GoldRow, Metric
from benchrunner_tasks import exact_match_of_groups, f1, mean_of_groups

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
Comparison = Callable[[str, str], float]
"""Compares a right text with the given text: a value from 0 to 1."""


def normalised(text: str) -> list[str]:
    """Return the words of a text in lower case, without ASCII punctuation and articles, as in SQuAD's script."""
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def exact(right: str, given: str) -> float:
    """Return 1 if both texts have the same words."""
    return float(normalised(right) == normalised(given))


def overlap(right: str, given: str) -> float:
    """Compute the F1 of the words of two texts; 0 without a word in common."""
    right_words = normalised(right)
    given_words = normalised(given)
    shared = (Counter(right_words) & Counter(given_words)).total()
    return 2 * shared / (len(right_words) + len(given_words)) if shared else 0.0


def _best(compare: Comparison, gold: GoldRow, answer: int) -> float:
    """Compare the chosen entity with every right answer, and return the best value."""
    names: Sequence[str] = gold["names"]
    if not 0 <= answer < len(names):
        return 0.0
    return max((compare(right, names[answer]) for right in gold["answers"]), default=0.0)


def _entity_metric(name: str, compare: Comparison) -> Metric:
    return Metric.of_rows(name, partial(_best, compare), columns=("names", "answers"))


RECORD_F1 = _entity_metric("f1", overlap)
"""F1 of words with the best right answer, the mean over all queries."""
RECORD_EXACT = _entity_metric("exact_match", exact)
"""Share of queries whose entity has the same words as a right answer."""

MULTIRC_F1 = replace(f1("true"), name="f1a")
"""F1 of the label true over all answers of all questions."""
MULTIRC_EXACT = exact_match_of_groups("passage", "question")
"""Share of questions whose answers are all labelled rightly."""

GENDER_PARITY = replace(
    mean_of_groups("gender_parity", ("pair",), lambda gold, answers: float(len(set(answers)) == 1)), detail=True
)
"""Share of the pairs of Winogender that get the same answer twice, right or wrong."""
