"""The verdict of a study of three or more systems: who is best or tied for best on which tasks, and over all."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from benchrunner.studies.result import Result
from benchrunner.studies.significance.differences import Pairing, SystemDifference
from benchrunner.studies.study import Column

MOST_GROUPS = 3
"""Number of groups of tied systems that a verdict names, those of most tasks first."""
MOST_CHARACTERS = 130
"""Characters of a list of names in a sentence; the first name is always whole."""
MOST_POINTS = 100.0
"""Differences of scores from 0 to 100 are not larger. With two restarts, tests may ask for more."""

Tests = Mapping[Pairing, SystemDifference]


def verdict(result: Result, *, with_figures: bool = True) -> Iterator[str]:
    """Say who is best or tied for best on which tasks, where nothing is clear, and what the mean ranks are.

    Without figures, it says on how many tasks.
    """
    best_of: dict[tuple[str, ...], list[Column]] = {}
    unclear = []
    ranked = [column for column in result.study.columns if _ranked(result, column)]
    for column in ranked:
        of_column = _ranked(result, column)
        best = tuple(name for name in of_column if result.statistics.ranks[name, column.name].is_best)
        if len(best) == len(of_column):
            unclear.append(column)
        else:
            best_of.setdefault(best, []).append(column)
    kind = result.study.column_kind
    of_all = f"of {len(ranked)} {kind}s" if len(ranked) > 1 else f"of 1 {kind}"
    groups = sorted(best_of.items(), key=lambda group: len(group[1]), reverse=True)
    for names, columns in groups[:MOST_GROUPS]:
        where = _where_best(result, names, columns) if with_figures else ""
        yield f"{'Best' if len(names) == 1 else 'Tied for best'} on {len(columns)} {of_all}{where}: {listed(names)}."
    rest = [result.study.title_of(column) for _, columns in groups[MOST_GROUPS:] for column in columns]
    if rest:
        yield f"On {listed(rest)}, other systems are best or tied for best: see the marks."
    if unclear:
        described = _nothing_clear(result, unclear) if with_figures else "."
        yield f"Nothing is clear on {len(unclear)} {of_all}{described}"
    yield from _over_all(result, kind)


def _ranked(result: Result, column: Column) -> list[str]:
    """List the systems or arms that are ranked in a column."""
    return [name for name in result.study.compared if (name, column.name) in result.statistics.ranks]


def _where_best(result: Result, names: tuple[str, ...], columns: Collection[Column]) -> str:
    """Name the columns on which these systems are best: a single one, or several that are tied."""
    titles = [result.study.title_of(column) for column in columns]
    if len(names) == 1:
        return f" ({listed(titles)})"
    seen = []
    for column, title in zip(columns, titles, strict=True):
        points = detectable(result, column.name, _between(result.statistics.tests, names, column))
        seen.append(f"{title} ({seen_from(points)})" if points else title)
    return f", {listed(seen)}"


def _nothing_clear(result: Result, columns: Sequence[Column]) -> str:
    """Name the columns without clear differences, with the differences that their rows and restarts let see."""
    described = []
    restarts = 1
    for column in columns:
        tests = _between(result.statistics.tests, _ranked(result, column), column)
        points = detectable(result, column.name, tests)
        missed = f"under {points:.1f} points" if points <= MOST_POINTS else "any difference"
        seen = f"{missed} with {tests[0].comparison.rows:,} rows" if 0 < points < math.inf else seen_from(points)
        described.append(f"{result.study.title_of(column)} ({seen})")
        restarts = max([restarts, *(max(test.comparison.restarts) for test in tests)])
    return (
        f": {listed(described)}. In parentheses, the differences that "
        f"may be missed with {restarts} restart{'s' * (restarts > 1)}."
    )


def _between(tests: Tests, names: Collection[str], column: Column) -> list[SystemDifference]:
    """List the tests between some systems in a column."""
    between = []
    for pairing, test in tests.items():
        if pairing.column == column.name and pairing.system in names and pairing.other in names:
            between.append(test)
    return between


def detectable(result: Result, column: str, tests: Iterable[SystemDifference]) -> float:
    """Return the points from which each of some tests in a column is likely to show a difference; 0 if there is none.

    A test of equal answers would show any difference.
    """
    scales = set()
    for (_, name), figure in result.figures.items():
        if name == column and figure.mean.value is not None:
            scales.add(figure.scale)
    return max([test.detectable * max(scales) for test in tests], default=0.0)


def seen_from(points: float) -> str:
    """Say from which difference on, in points, a study is likely to show it."""
    if not points:
        return "equal answers"
    if points == math.inf:
        return "nothing can be said, since no system is better than the majority"
    return "no difference is likely to be seen" if points > MOST_POINTS else f"likely to be seen from {points:.1f}"


def _over_all(result: Result, kind: str) -> Iterator[str]:
    """Say which mean ranks the systems have over all columns, with intervals, and who is clearly behind."""
    means = result.statistics.mean_ranks
    columns = [column for column in result.study.columns if len(_ranked(result, column)) == len(means)]
    if not means or len(columns) < 2:
        return
    ordered = sorted(means, key=lambda name: means[name].mean)
    leading = []
    for name in ordered:
        rank = means[name]
        if rank.is_best:
            leading.append(f"{name} {rank.mean:.1f} ({rank.low:.1f} to {rank.high:.1f})")
    behind = [name for name in ordered if not means[name].is_best]
    said = f"clearly behind: {listed(behind)}" if behind else "nobody is clearly behind"
    yield f"Mean rank over {len(columns)} {kind}s, with its interval: {listed(leading, '; ')}; {said}."


def listed(names: Iterable[str], separator: str = ", ") -> str:
    """Join names; of a long list only the first ones, and the number of the others."""
    names = list(names)
    shown = 1
    while shown < len(names) and len(separator.join(names[: shown + 1])) <= MOST_CHARACTERS:
        shown += 1
    rest = len(names) - shown
    return separator.join(names[:shown]) + (f" and {rest} more" if rest else "")
