"""Metrics of groups of rows, for example of all answers to one question: the mean over the groups of a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchrunner import GoldRow, Metric, PluginError, RowSums

Column = Sequence[Any]
"""Values of some rows, in their order."""


def mean_of_groups(
    name: str,
    columns: Sequence[str],
    figure: Callable[[Column, Column], float | None],
) -> Metric:
    """Give the mean of `figure`(gold, predicted) over groups of rows: rows with equal values in the columns.

    A figure of None leaves the group out. Intervals and tests draw whole groups: the value of a group counts with its
    first row.
    """
    if isinstance(columns, str) or not columns:
        raise PluginError(f"The metric {name} needs the columns of its groups, such as ('question',), not {columns!r}.")

    def row_values(gold: Sequence[GoldRow], predicted: Column) -> list[tuple[float, float]]:
        """Return the figure of each group and 1 for its first row, and zeros for all other rows."""
        groups: dict[tuple[str, ...], list[int]] = {}  # rows with equal values
        for row, right in enumerate(gold):
            key = tuple(repr(right[column]) for column in columns)
            groups.setdefault(key, []).append(row)
        values = [(0.0, 0.0)] * len(gold)
        for rows in groups.values():
            gold_answers = [gold[row].gold for row in rows]
            answers = [predicted[row] for row in rows]
            value = figure(gold_answers, answers)
            if value is not None:
                values[rows[0]] = (float(value), 1.0)
        return values

    return Metric.of_sums(
        name,
        RowSums(row_values),
        absent=f"no {name}: no group of rows has a value",
        columns=tuple(columns),
        of_groups=True,
    )


def exact_match_of_groups(*columns: str) -> Metric:
    """Give the share of groups, as of `mean_of_groups`, in which every answer is right."""

    def is_right(gold: Column, predicted: Column) -> float:
        return float(list(gold) == list(predicted))

    return mean_of_groups("exact_match", columns, is_right)
