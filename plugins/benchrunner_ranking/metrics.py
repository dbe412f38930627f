"""Metrics of rankings, as means over queries: the expected values under ties, see `expected_values`."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchrunner import Metric, PluginError
from benchrunner_ranking import expected_values


def _mean_over_queries(name: str, figure: Any, depth: int | None, detail: bool) -> Metric:
    if depth is not None and depth < 1:
        raise PluginError(f"The metric {name} needs 1 rank or more, not {depth}.")
    named = name if depth is None else f"{name}@{depth}"
    return Metric.of_rows(named, partial(figure, depth=depth), detail=detail)


def ndcg(depth: int | None = 10, *, detail: bool = False) -> Metric:
    """Give the nDCG of the first `depth` ranks, trec_eval's `ndcg_cut`: linear gains of all grades above 0."""
    return _mean_over_queries("ndcg", expected_values.ndcg, depth, detail)


def recall(depth: int, *, detail: bool = False) -> Metric:
    """Give the share of the relevant documents that are among the first `depth` ranks, trec_eval's `recall`."""
    return _mean_over_queries("recall", expected_values.recall, depth, detail)


def mean_average_precision(depth: int | None = None, *, detail: bool = False) -> Metric:
    """Give the mean average precision, trec_eval's `map` and `map_cut`."""
    return _mean_over_queries("map", expected_values.average_precision, depth, detail)


def reciprocal_rank(depth: int | None = None, *, detail: bool = False) -> Metric:
    """Give the mean of 1 / rank of the first relevant document, trec_eval's `recip_rank`."""
    return _mean_over_queries("mrr", expected_values.reciprocal_rank, depth, detail)
