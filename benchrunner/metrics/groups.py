"""Metrics of groups of rows, for example of all answers to one question: the mean over the groups of a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchrunner.errors import PluginError, Undefined
from benchrunner.metrics.metric import ANSWERS, GoldRow, Metric
from benchrunner.metrics.ranking import PROBABILITIES
from benchrunner.metrics.weighting import RowSums

GroupFigure = Callable[[Sequence[Any], Sequence[Any]], float | None]
"""Computes the figure of one group from its gold answers and predictions; None leaves the group out of the mean."""


def mean_of_groups(name: str, columns: Sequence[str], figure: GroupFigure, *, computed_from: str = ANSWERS) -> Metric:
    """Give the mean of `figure`(gold, predicted) over groups of rows: rows with equal values in the columns.

    Intervals and tests draw whole groups: the value of a group counts with its first row.
    """
    if isinstance(columns, str) or not columns:
        raise PluginError(f"The metric {name} needs the columns of its groups, such as ('question',), not {columns!r}.")

    def values(gold: Sequence[GoldRow], predicted: Sequence[Any]) -> dict[int, float]:
        """Return the first row of each group -> its figure."""
        groups: dict[tuple[Any, ...], list[int]] = {}
        for row, right in enumerate(gold):
            groups.setdefault(tuple(map(repr, (right[column] for column in columns))), []).append(row)
        figures = {
            rows[0]: figure([gold[row].gold for row in rows], [predicted[row] for row in rows])
            for rows in groups.values()
        }
        return {row: float(value) for row, value in figures.items() if value is not None}

    def compute(gold: Sequence[GoldRow], predicted: Sequence[Any]) -> float:
        figures = values(gold, predicted)
        if not figures:
            raise Undefined(f"no {name}: no group of rows has a value")
        return sum(figures.values()) / len(figures)

    def row_values(gold: Sequence[GoldRow], predicted: Sequence[Any]) -> list[tuple[float, float]]:
        figures = values(gold, predicted)
        return [(figures.get(row, 0.0), float(row in figures)) for row in range(len(gold))]

    row_sums = RowSums(row_values, lambda sums: sums[0] / sums[1])
    return Metric(name, compute, computed_from=computed_from, row_sums=row_sums, columns=tuple(columns))


def exact_match_of_groups(*columns: str) -> Metric:
    """Give the share of groups of rows in which every answer is right; rows with equal values in the columns."""
    return mean_of_groups("exact_match", columns, lambda gold, predicted: float(list(gold) == list(predicted)))


def reciprocal_rank_of_groups(columns: Sequence[str], labels: Sequence[Any], positive: Any) -> Metric:
    """Give the mean over groups of rows of 1 / rank of the first row whose gold answer is `positive`.

    The rows of a group, such as the candidates for a question, are ranked by the probability of `positive`; among equal
    probabilities, rows with other gold answers come first. Groups without such a row are left out. `labels` are in the
    order of the probabilities, as in `Classify.labels`.
    """
    if positive not in labels:
        raise PluginError(f"The metric mrr needs a positive label that is one of {tuple(labels)}, not {positive!r}.")
    column = list(labels).index(positive)

    def figure(gold: Sequence[Any], probabilities: Sequence[Any]) -> float | None:
        scores = [row[column] for row in probabilities]
        best = max((score for score, label in zip(scores, gold, strict=True) if label == positive), default=None)
        if best is None:
            return None
        before = [score for score, label in zip(scores, gold, strict=True) if score > best]
        equal = [score for score, label in zip(scores, gold, strict=True) if score == best and label != positive]
        return 1 / (len(before) + len(equal) + 1)

    return mean_of_groups("mrr", columns, figure, computed_from=PROBABILITIES)
