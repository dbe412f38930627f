"""Metrics that functions accept by name, such as "accuracy"."""

from __future__ import annotations

from benchrunner.errors import RequestError, closest_names
from benchrunner.metrics import (
    ACCURACY,
    BALANCED_ACCURACY,
    EXACT_MATCH,
    MATTHEWS,
    MEAN_RECIPROCAL_RANK,
    PEARSON,
    SPEARMAN,
    Metric,
)

NAMED = (ACCURACY, BALANCED_ACCURACY, EXACT_MATCH, MATTHEWS, MEAN_RECIPROCAL_RANK, PEARSON, SPEARMAN)
"""Metrics without settings; others need labels, such as `f1("yes")`."""


def metric_of(metric: Metric | str) -> Metric:
    """Return the metric with this name, or the given metric; raise a `RequestError` for an unknown name."""
    if isinstance(metric, Metric):
        return metric
    by_name = {named.name: named for named in NAMED}
    if metric in by_name:
        return by_name[metric]
    close = closest_names(metric, by_name)
    advice = f"Did you mean {' or '.join(close)}?" if close else f"Known: {', '.join(by_name)}."
    raise RequestError(
        f"There is no metric '{metric}' without settings. {advice} Give a metric with settings as a value, for example "
        'benchrunner.f1("yes").'
    )
