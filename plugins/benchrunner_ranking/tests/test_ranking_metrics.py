"""Figures of rankings: trec_eval's without ties, and with ties the mean over all orders of equal scores."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from itertools import groupby, permutations, product
from typing import Any

import numpy as np
import pytest

from benchrunner import Metric, PluginError
from benchrunner_ranking import metrics

Case = tuple[list[dict[str, Any]], list[list[Any]]]
BY_TREC_EVAL = {
    "ndcg_cut_10": metrics.ndcg(10),
    "recall_5": metrics.recall(5),
    "map": metrics.mean_average_precision(),
    "map_cut_5": metrics.mean_average_precision(5),
    "recip_rank": metrics.reciprocal_rank(),
}
"""Name in trec_eval -> ours."""


def case(draw: random.Random, documents: int, scores: int | None) -> Case:
    """Draw judged documents, some of which are not ranked, and a ranking with `scores` different scores."""
    names = [f"d{number}" for number in range(documents + 2)]
    judged = draw.sample(names, draw.randint(1, documents))
    grades = [{"id": name, "grade": draw.choice((-1, 0, 0, 1, 1, 2, 3))} for name in judged]
    values = [float(number if scores is None else draw.randrange(scores)) for number in range(documents)]
    draw.shuffle(values)
    return grades, [[name, value] for name, value in zip(names, values, strict=False)]


def value(metric: Metric, judged: list[dict[str, Any]], ranking: list[list[Any]]) -> float:
    return metric.value([judged], [ranking])


def orders(ranking: list[list[Any]]) -> Iterator[list[list[Any]]]:
    """Yield the ranking in all orders of its equal scores, with scores that differ."""
    ordered = sorted(ranking, key=lambda pair: -float(pair[1]))
    groups = [list(group) for _, group in groupby(ordered, key=lambda pair: pair[1])]
    for chosen in product(*(permutations(group) for group in groups)):
        names = [name for group in chosen for name, _ in group]
        yield [[name, float(-rank)] for rank, name in enumerate(names)]


# --- written anew, from the definitions, for rankings without ties


def plain_ndcg(gains: list[int], ideal: list[int], depth: int) -> float:
    best = sum(gain / math.log2(rank + 2) for rank, gain in enumerate(ideal[:depth]))
    return sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains[:depth])) / best if best else 0.0


def plain_recall(gains: list[int], ideal: list[int], depth: int) -> float:
    return sum(gain > 0 for gain in gains[:depth]) / len(ideal) if ideal else 0.0


def plain_precision(gains: list[int], ideal: list[int], depth: int) -> float:
    hits = [rank for rank, gain in enumerate(gains[:depth], start=1) if gain > 0]
    return sum(number / rank for number, rank in enumerate(hits, start=1)) / len(ideal) if ideal else 0.0


def plain_reciprocal(gains: list[int], ideal: list[int], depth: int) -> float:
    return next((1 / rank for rank, gain in enumerate(gains[:depth], start=1) if gain > 0), 0.0)


PLAIN: dict[Callable[[int], Metric], Callable[[list[int], list[int], int], float]] = {
    metrics.ndcg: plain_ndcg,
    metrics.recall: plain_recall,
    metrics.mean_average_precision: plain_precision,
    metrics.reciprocal_rank: plain_reciprocal,
}


@pytest.mark.parametrize("make", PLAIN, ids=lambda make: str(make.__name__))
@pytest.mark.parametrize("depth", [1, 3, 9])
def test_ties_are_the_mean_over_all_their_orders(make: Callable[[int], Metric], depth: int) -> None:
    draw = random.Random(depth)
    for _ in range(60):
        judged, ranking = case(draw, 6, draw.choice((1, 2, 3)))
        grades = {part["id"]: max(0, part["grade"]) for part in judged}
        ideal = sorted((grade for grade in grades.values() if grade), reverse=True)
        figures = []
        for order in orders(ranking):
            gains = [grades.get(name, 0) for name, _ in order]
            figures.append(PLAIN[make](gains, ideal, depth))
        assert value(make(depth), judged, ranking) == pytest.approx(np.mean(figures), abs=1e-12)


def test_without_ties_figures_are_those_of_trec_eval() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    draw = random.Random(1)
    cases = {f"q{number}": case(draw, 15, None) for number in range(200)}
    judged = {name: {part["id"]: part["grade"] for part in gold} for name, (gold, _) in cases.items()}
    run = {name: dict(ranking) for name, (_, ranking) in cases.items()}
    figures = pytrec_eval.RelevanceEvaluator(
        judged, {"ndcg_cut.10", "recall.5", "map", "map_cut.5", "recip_rank"}
    ).evaluate(run)
    assert len(figures) == 200
    for name, metric in BY_TREC_EVAL.items():
        for query, (gold, ranking) in cases.items():
            assert value(metric, gold, ranking) == pytest.approx(figures[query][name], abs=1e-9), name
        mean = metric.value([gold for gold, _ in cases.values()], [ranking for _, ranking in cases.values()])
        assert mean == pytest.approx(np.mean([figure[name] for figure in figures.values()]), abs=1e-9)


def test_ties_have_the_ndcg_of_scikit_learn() -> None:
    from sklearn.metrics import ndcg_score

    draw = random.Random(2)
    for _ in range(100):
        grades = [draw.choice((0, 0, 1, 2)) for _ in range(8)]
        scores = [float(draw.randrange(3)) for _ in range(8)]
        if not any(grades):
            continue
        judged = [{"id": str(number), "grade": grade} for number, grade in enumerate(grades)]
        ranking = [[str(number), score] for number, score in enumerate(scores)]
        assert value(metrics.ndcg(5), judged, ranking) == pytest.approx(ndcg_score([grades], [scores], k=5))


def test_relevant_documents_that_were_not_found_count() -> None:
    judged = [{"id": "found", "grade": 1}, {"id": "missed", "grade": 1}]
    ranking = [["other", 2.0], ["found", 1.0]]
    assert value(metrics.recall(100), judged, ranking) == 0.5
    assert value(metrics.mean_average_precision(), judged, ranking) == 0.25
    assert value(metrics.ndcg(10), judged, ranking) == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)))


def test_a_query_without_relevant_documents_counts_as_zero() -> None:
    judged = [{"id": "a", "grade": 0}]
    for metric in BY_TREC_EVAL.values():
        assert value(metric, judged, [["a", 1.0]]) == 0.0


def test_a_metric_without_ranks_is_refused() -> None:
    with pytest.raises(PluginError, match="ndcg needs 1 rank or more, not 0"):
        metrics.ndcg(0)
