"""Accuracies over groups of pairs: the mean of all paradigms, and one figure for each phenomenon or domain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchrunner import GoldRow, Metric, RowSums
from benchrunner_tasks import mean_of_groups


def _share(gold: Sequence[Any], answers: Sequence[Any]) -> float:
    hits = [bool(right == answer) for right, answer in zip(gold, answers, strict=True)]
    return sum(hits) / len(hits)


MEAN_OF_PARADIGMS = mean_of_groups("mean_of_paradigms", ("paradigm",), _share)
"""The mean of the accuracies in the paradigms, however many rows they have: BLiMP's overall figure."""


def accuracy_in(column: str, value: str) -> Metric:
    """Give the accuracy in the rows with a value in a column; the value is the name of the metric."""

    def row_values(gold: Sequence[GoldRow], answers: Sequence[Any]) -> list[tuple[float, float]]:
        """Return, for each row, whether the answer is right and whether the row counts."""
        values = []
        for right, answer in zip(gold, answers, strict=True):
            counts = right[column] == value
            values.append((float(counts and right.gold == answer), float(counts)))
        return values

    return Metric.of_sums(
        value,
        RowSums(row_values),
        absent=f"no row has {value!r} in the column '{column}'",
        columns=(column,),
        detail=True,
    )
