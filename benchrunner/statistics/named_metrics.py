"""Metrics that functions accept by name, such as "accuracy"."""

from __future__ import annotations

from benchrunner.errors import RequestError, closest_names
from benchrunner.metrics import Metric, classification, correlation, ranking


def metric_of(metric: Metric | str) -> Metric:
    """Return the metric with this name, or the given metric; raise a `RequestError` for an unknown name.

    The metrics with names are those without settings; others need labels, such as `f1("yes")`.
    """
    if isinstance(metric, Metric):
        return metric
    by_name: dict[str, Metric] = {}
    for module in (classification, correlation, ranking):
        for value in vars(module).values():
            if isinstance(value, Metric):
                by_name.setdefault(value.name, value)  # "accuracy" is ACCURACY, which stands before RIGHT_CHOICE
    if metric in by_name:
        return by_name[metric]
    close = closest_names(metric, by_name)
    advice = f"Did you mean {' or '.join(close)}?" if close else f"Known: {', '.join(by_name)}."
    raise RequestError(
        f"There is no metric '{metric}' without settings. {advice} Give a metric with settings as a value, for example "
        'benchrunner.f1("yes").'
    )
