"""The rows of a split that are used: all rows, or a random sample of N that keeps the shares of the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from benchrunner.data.rows import Rows
from benchrunner.errors import RequestError

if TYPE_CHECKING:
    from benchrunner.problems.problem import Problem


def limited_rows(rows: Rows, problem: Problem, limit: int | None, *, seed: int) -> Rows:
    """Draw at most `limit` rows of a split at random, and give them in the order of the split. None is all rows.

    Where rows have labels, the sample keeps their shares.
    """
    if limit is None or limit >= len(rows):
        return rows
    strata = problem.strata(rows.table)
    return rows.taken(sample([None] * len(rows) if strata is None else strata, limit, seed=seed))


def whole_units(rows: Rows, units: Sequence[Sequence[int]], limit: int) -> Rows:
    """Draw units, the numbers of rows that stay together, at random: as many as have `limit` rows at most."""
    from benchrunner.features.randomness import permutation

    chosen = list[int]()
    for number in permutation(len(units), 0, "sample").tolist():
        if len(chosen) + len(units[number]) <= limit:
            chosen += units[number]
    if not chosen:
        raise RequestError(
            f"{limit:,} rows hold no whole group of rows that are scored together: use a larger --limit-dev."
        )
    return rows.taken(sorted(chosen))


def sample(strata: Sequence[Hashable], size: int, *, seed: int) -> list[int]:
    """Draw `size` rows at random, from each stratum as many as its share of all rows, and give their numbers in order.

    Each stratum has at least one row in the sample, if there is room. The rows of a smaller sample with the same seed
    are among those of a larger one.
    """
    from benchrunner.features.randomness import permutation

    missing = _shares(Counter(strata), size)
    chosen = []
    for row in permutation(len(strata), seed, "sample").tolist():
        if missing[strata[row]]:
            missing[strata[row]] -= 1
            chosen.append(row)
    return sorted(chosen)


def _shares(counts: Counter[Hashable], size: int) -> dict[Hashable, int]:
    """Divide `size` among strata: one row for each, the frequent ones first, then others by the method of Webster.

    A larger size takes no row from a stratum, which the method of the largest remainder may do for three strata.
    """
    shares = dict.fromkeys(counts, 0)
    for stratum, _ in counts.most_common(size):
        shares[stratum] = 1
    for _ in range(size - len(counts)):
        shares[max(counts, key=lambda stratum: counts[stratum] / (2 * shares[stratum] + 1))] += 1
    return shares
