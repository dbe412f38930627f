"""Expected figures of a ranking: documents of equal score are in random order, and figures are means over all orders.

The order of a file therefore never decides a figure, and a system that gives all documents one score gets what a
random order gets. Without equal scores, the figures are those of trec_eval. All sums are in closed form (McSherry and
Najork 2008, "Computing information retrieval performance measures efficiently in the presence of tied scores").
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, final

Judgements = Sequence[Mapping[str, Any]]
"""The judged documents of a query: `{"id": ..., "grade": ...}` each. A grade above 0 means relevant."""
Scores = Sequence[Sequence[Any]]
"""Pairs of a document's id and its score, in any order."""


@final
@dataclass(frozen=True)
class Tie:
    """Documents of equal score in a ranking. A document without equals is a tie by itself."""

    before: int
    """How many documents have higher scores."""
    grades: Sequence[int]
    """The grade of each document of the tie; 0 for documents that are not relevant."""

    @property
    def relevant(self) -> int:
        """How many documents of the tie are relevant."""
        return sum(grade > 0 for grade in self.grades)

    @property
    def share(self) -> float:
        """Probability that the document at one rank of the tie is relevant."""
        return self.relevant / len(self.grades)

    def ranks(self, depth: int | None) -> range:
        """Return the ranks of the tie, counted from 1, up to the rank `depth`."""
        end = self.before + len(self.grades)
        return range(self.before + 1, 1 + (end if depth is None else min(end, depth)))


def positive_grades(judgements: Judgements) -> dict[str, int]:
    """Return the grade of each relevant document by its id."""
    return {judged["id"]: judged["grade"] for judged in judgements if judged["grade"] > 0}


def ties(judgements: Judgements, scores: Scores) -> Iterator[Tie]:
    """Yield the ties of a ranking, that with the highest score first."""
    grades = positive_grades(judgements)
    ordered = sorted(scores, key=lambda pair: pair[1], reverse=True)
    before = 0
    for _, pairs in groupby(ordered, key=lambda pair: pair[1]):
        tie = Tie(before, [grades.get(document, 0) for document, _ in pairs])
        yield tie
        before += len(tie.grades)


def ndcg(judgements: Judgements, scores: Scores, depth: int | None) -> float:
    """Compute the expected nDCG of the first `depth` ranks: the gain is the grade, discounted by log2(rank + 1).

    The ideal ranking has all judged documents, also those without a score. As in trec_eval, a query without relevant
    documents has 0.
    """
    best = sorted(positive_grades(judgements).values(), reverse=True)
    ideal = 0.0
    for rank, grade in enumerate(best[:depth], start=1):
        ideal += grade / math.log2(rank + 1)
    gain = 0.0
    for tie in ties(judgements, scores):
        mean = sum(tie.grades) / len(tie.grades)
        gain += mean * sum(1 / math.log2(rank + 1) for rank in tie.ranks(depth))
    return gain / ideal if ideal else 0.0


def recall(judgements: Judgements, scores: Scores, depth: int | None) -> float:
    """Compute the expected share of the relevant documents that are among the first `depth` ranks."""
    count = len(positive_grades(judgements))
    found = sum(tie.share * len(tie.ranks(depth)) for tie in ties(judgements, scores))
    return found / count if count else 0.0


def average_precision(judgements: Judgements, scores: Scores, depth: int | None) -> float:
    """Compute the expected average precision: of each relevant document, the precision at its rank, else 0.

    Of a tie with m documents, r of them relevant, the document at place p is relevant with probability r / m. If it is,
    (p - 1) (r - 1) / (m - 1) of those before it in the tie are expected to be relevant, too.
    """
    count = len(positive_grades(judgements))
    total = 0.0
    before = 0  # relevant documents with higher scores
    for tie in ties(judgements, scores):
        others = max(len(tie.grades) - 1, 1)
        for place, rank in enumerate(tie.ranks(depth)):
            hits = before + 1 + place * (tie.relevant - 1) / others
            total += tie.share * hits / rank
        before += tie.relevant
    return total / count if count else 0.0


def reciprocal_rank(judgements: Judgements, scores: Scores, depth: int | None) -> float:
    """Compute the expected value of 1 / rank of the first relevant document; 0 behind the rank `depth`."""
    for tie in ties(judgements, scores):
        if not tie.relevant:
            continue
        total = 0.0
        none_yet = 1.0  # probability that no document of the tie before this place is relevant
        for place, rank in enumerate(tie.ranks(depth)):
            is_next = min(1.0, tie.relevant / (len(tie.grades) - place))
            total += none_yet * is_next / rank
            none_yet *= 1 - is_next
        return total
    return 0.0
