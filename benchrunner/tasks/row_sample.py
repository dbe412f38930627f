"""The rows of a split that are used: all rows, the first N, or a stratified sample of N."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from benchrunner.data.rows import Rows
from benchrunner.errors import RequestError

if TYPE_CHECKING:
    from benchrunner.metrics import Metric
    from benchrunner.parameters.recipes import Recipe
    from benchrunner.problems.problem import Problem


def training_rows(rows: Rows, problem: Problem, recipe: Recipe, *, seed: int) -> Rows:
    """Give the rows of a training split that a fit with this recipe and seed learns from, in the order of the split."""
    return limited_rows(rows, problem, recipe.limit_train, recipe.sample, seed=seed)


def whole_groups(chosen: Rows, rows: Rows, metric: Metric, sample: str) -> Rows:
    """Leave out the rows of groups of which some rows were not chosen."""
    if sample != "first":
        raise RequestError(
            f"A stratified sample parts the groups of rows of {metric.name}: leave --sample out, or --limit-dev."
        )
    sizes = Counter(rows.groups(metric.columns))
    groups = chosen.groups(metric.columns)
    counts = Counter(groups)
    kept = [row for row, group in enumerate(groups) if counts[group] == sizes[group]]
    if not kept:
        raise RequestError(
            f"The first {len(chosen):,} rows hold no whole group of rows that {metric.name} scores: use a larger "
            "--limit-dev."
        )
    return chosen.taken(kept)


def limited_rows(
    rows: Rows, problem: Problem, limit: int | None, sample: str, *, seed: int, option: str = "--limit-train"
) -> Rows:
    """Give at most `limit` rows of a split, in the order of the split: see `Recipe.sample`. None is all rows.

    `option` is the option of the command line that errors name.
    """
    if limit is None or limit >= len(rows):
        return rows
    if sample == "first":
        return Rows(rows.table.slice(0, limit), rows.origin, rows.lines, rows.notes)
    strata = problem.strata(rows.table)
    if strata is None:
        raise RequestError(
            f"A stratified sample groups rows by their label, which rows of the problem '{problem.name}' do not have. "
            "Leave --sample out to take the first rows."
        )
    return rows.taken(stratified_sample(strata, limit, seed=seed, option=option))


def stratified_sample(strata: Sequence[Hashable], size: int, *, seed: int, option: str = "--limit-train") -> list[int]:
    """Draw `size` rows at random, from each stratum as many as its share of all rows, and give their numbers in order.

    Each stratum has at least one row in the sample. The rows of a smaller sample with the same seed are among those of
    a larger one.
    """
    from benchrunner.features.randomness import permutation

    missing = _shares(Counter(strata), size, option)
    chosen = []
    for row in permutation(len(strata), seed, "sample").tolist():
        if missing[strata[row]]:
            missing[strata[row]] -= 1
            chosen.append(row)
    return sorted(chosen)


def _shares(counts: Counter[Hashable], size: int, option: str) -> dict[Hashable, int]:
    """Divide `size` among strata: one row for each, then others by the method of Webster.

    A larger size takes no row from a stratum, which the method of the largest remainder may do for three strata.
    """
    if size < len(counts):
        raise RequestError(
            f"A stratified sample needs a row of each of the {len(counts)} labels: use {option} {len(counts)} or "
            f"more, not {size}."
        )
    shares = dict.fromkeys(counts, 1)
    for _ in range(size - len(counts)):
        shares[max(counts, key=lambda stratum: counts[stratum] / (2 * shares[stratum] + 1))] += 1
    return shares
