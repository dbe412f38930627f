"""Conclusions of a study in sentences: which systems are best, or where a system is better or worse than another."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from benchrunner.results import Result, Study, comparison, entries, pairs, study as parts

Tests = Mapping[pairs.Pairing, pairs.Pair]
Column = parts.Column
MOST_GROUPS = 3
"""Number of groups of tied systems that a verdict names, those of most tasks first."""
MOST_CHARACTERS = 130
"""Characters of a list of names in a sentence; the first name is always whole."""
MOST_POINTS = 100.0
"""Differences of scores from 0 to 100 are not larger. With two restarts, tests may ask for more."""


def conclusions(result: Result, shown: int) -> list[str]:
    """Say who is best, or how each two systems differ; `shown` is the number of differences that are named.

    Further sentences say which systems are equivalent, if the study has a margin. Empty if nothing was tested.
    """
    if not result.statistics.tests:
        return []
    if result.statistics.is_ranking:
        return [*verdict(result, with_figures=shown > 0), *_equivalences(result)]
    return _of_pairs(result, shown)


def _of_pairs(result: Result, shown: int) -> list[str]:
    """Say how the systems of each pair differ, clear differences first, and where they are equivalent."""
    study = result.study
    of_pairs = by_pair(result.statistics)
    if not study.systems_down:
        if not study.contrasts and not study.lines:
            for system in study.names[1:]:
                of_pairs.setdefault((system, study.names[0]), {})
        if len(study.names) > 2:
            shown = min(shown, 1)
    ordered = sorted(of_pairs, key=lambda pair: not any(test.is_clear for test in of_pairs[pair].values()))
    sentences = [_sentence(result, *pair, of_pairs[pair], shown=shown) for pair in ordered]
    return [*sentences, *_equivalences(result)]


def caveats(study: Study, tests: Tests) -> Iterator[str]:
    """Say where other seeds, of fits or of pre-trainings, may reverse the conclusion."""
    if any(test.comparison.claim == "fits" for test in tests.values()):
        yield "With one restart this is about these fits; other seeds may reverse it: give more (--restarts 3)."
    compared = {name for system, other, _ in tests for name in (system, other)}
    alone = [arm for arm, systems in study.arms.items() if len(systems) == 1 and arm in compared]
    if alone:
        yield (
            f"With one pre-training of {listed(alone, ' and of ')} this is about that pre-training: others may "
            "reverse it."
        )


def _sentence(result: Result, system: str, first: str, tests: Mapping[str, pairs.Pair], *, shown: int) -> str:
    """Say where a system is better or worse than the first; `shown` is the number of differences that are named."""
    if not tests:
        return f"Nothing is known about a difference between {system} and {first}: no figure could be tested."
    better = dict[str, float]()
    worse = dict[str, float]()
    every = {}
    for column in result.study.columns:
        if column.name in tests:
            test = tests[column.name]
            name = _named(title_of(column, result), test)
            every[name] = test.points
            if test.is_clear:
                side = better if test.comparison.gain > 0 else worse
                side[name] = test.points
    kind = column_kind(result)
    count = f"{len(tests)} {kind}{'s' * (len(tests) > 1)}"
    if not better and not worse:
        return f"No clear difference between {system} and {first} on {count}{_largest(every, shown)}."
    if len(tests) == 1:
        return f"{system} is {'better' if better else 'worse'} than {first}{_largest(every, shown)}."
    parts = []
    if better:
        parts.append(f"better than {first} on {len(better)}{_largest(better, shown)}")
    if worse:
        than = "worse" if better else f"worse than {first}"
        parts.append(f"{than} on {len(worse)}{_largest(worse, shown)}")
    unclear = len(tests) - len(better) - len(worse)
    rest = f"; on the other {unclear} the difference may be chance" if unclear else ""
    return f"Of {count}, {system} is {' and '.join(parts)}{rest}."


def _equivalences(result: Result) -> Iterator[str]:
    """Say which systems are equivalent within the study's margin, and on which columns."""
    margin = result.study.margin
    if margin is None:
        return
    within = f"quivalent within {margin:g} point{'s' * (margin != 1)}"
    said = []
    for (system, other), tests in by_pair(result.statistics).items():
        for column in result.study.columns:
            test = tests.get(column.name)
            if test is None:
                continue
            statement, place = f"Not shown to be e{within}", f"{system} and {other} on {title_of(column, result)}"
            if not test.comparison.parts:
                statement = "Equal in all answers, which shows nothing about other rows"
            elif test.is_equivalent:
                statement = f"E{within}"
                place += f" (interval {test.interval_text})"
            said.append((statement, place))
    for statement, places in comparison.grouped(said).items():
        yield f"{statement}: {listed(places, '; ')}."


def _named(title: str, test: pairs.Pair) -> str:
    """Write a difference with its interval, in points as tables show it."""
    if not test.comparison.parts:
        return f"{title}: all answers are equal"
    said = f"{title} {test.points:+.1f}, 95 % interval {test.interval_text}"
    return said if test.is_clear else f"{said}; {seen_from(test.detectable)}"


def _largest(differences: Mapping[str, float], shown: int) -> str:
    """Join the largest differences in parentheses."""
    ordered = sorted(differences, key=lambda text: abs(differences[text]), reverse=True)
    if len(ordered) > shown:
        ordered[shown:] = ["..."]
    return f" ({'; '.join(ordered)})" if shown else ""


def verdict(result: Result, *, with_figures: bool = True) -> Iterator[str]:
    """Say who is best or tied for best on which tasks, where nothing is clear, and what the mean ranks are.

    Without figures, it says on how many tasks.
    """
    best_of = defaultdict[tuple[str, ...], list[Column]](list)
    unclear = []
    ranks = result.statistics.ranks
    ranked = [column for column in result.study.columns if column.name in ranks]
    for column in ranked:
        of_column = ranks[column.name]
        best = tuple(name for name in result.study.compared if name in of_column and of_column[name].is_best)
        if len(best) == len(of_column):
            unclear.append(column)
        else:
            best_of[best].append(column)
    kind = column_kind(result)
    of_all = f"of {len(ranked)} {kind}s" if len(ranked) > 1 else f"of 1 {kind}"
    groups = sorted(best_of.items(), key=lambda group: len(group[1]), reverse=True)
    for names, columns in groups[:MOST_GROUPS]:
        where = _where_best(result, names, columns) if with_figures else ""
        yield f"{'Best' if len(names) == 1 else 'Tied for best'} on {len(columns)} {of_all}{where}: {listed(names)}."
    rest = [title_of(column, result) for _, columns in groups[MOST_GROUPS:] for column in columns]
    if rest:
        yield f"On {listed(rest)}, other systems are best or tied for best: see the marks."
    if unclear:
        described = _nothing_clear(result, unclear) if with_figures else "."
        yield f"Nothing is clear on {len(unclear)} {of_all}{described}"
    yield from _over_all(result, kind)


def _where_best(result: Result, names: tuple[str, ...], columns: Collection[Column]) -> str:
    """Name the columns on which these systems are best: a single one, or several that are tied."""
    titles = [title_of(column, result) for column in columns]
    if len(names) == 1:
        return f" ({listed(titles)})"
    seen = []
    for column, title in zip(columns, titles, strict=True):
        points = detectable(_between(result, names, column))
        seen.append(f"{title} ({seen_from(points)})" if points else title)
    return f", {listed(seen)}"


def _nothing_clear(result: Result, columns: Sequence[Column]) -> str:
    """Name the columns without clear differences, with the differences that their rows and restarts let see."""
    described = []
    restarts = 1
    for column in columns:
        tests = _between(result, result.statistics.ranks[column.name], column)
        points = detectable(tests)
        missed = f"under {points:.1f} points" if points <= MOST_POINTS else "any difference"
        seen = f"{missed} with {tests[0].comparison.rows:,} rows" if 0 < points < math.inf else seen_from(points)
        described.append(f"{title_of(column, result)} ({seen})")
        restarts = max([restarts, *(max(test.comparison.restarts) for test in tests)])
    return (
        f": {listed(described)}. In parentheses, the differences that "
        f"may be missed with {restarts} restart{'s' * (restarts > 1)}."
    )


def _between(result: Result, names: Collection[str], column: Column) -> list[pairs.Pair]:
    """List the tests between some systems in a column."""
    return [
        pair
        for pairing, pair in result.statistics.tests.items()
        if pairing.column == column.name and pairing.system in names and pairing.other in names
    ]


def detectable(tests: Iterable[pairs.Pair]) -> float:
    """Return the points from which each of some tests is likely to show a difference; 0 if there is none.

    A test of equal answers would show any difference.
    """
    return max([test.detectable for test in tests], default=0.0)


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
    columns = [ranks for ranks in result.statistics.ranks.values() if len(ranks) == len(means)]
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


def by_pair(statistics: entries.Statistics) -> dict[tuple[str, str], dict[str, pairs.Pair]]:
    """Map two systems to their tests."""
    tests = defaultdict[tuple[str, str], dict[str, pairs.Pair]](dict)
    for (system, other, column), pair in statistics.tests.items():
        tests[system, other][column] = pair
    return tests


def title_of(column: Column, result: Result) -> str:
    """Name a column in sentences, with its split where the table tests several splits of a task."""
    return column.title if _titles(result).count(column.title) < 2 else f"{column.title} ({column.split})"


def column_kind(result: Result) -> str:
    """Return what sentences call a column."""
    titles = _titles(result)
    return "column" if result.study.systems_down or len(set(titles)) < len(titles) else "task"


def _titles(result: Result) -> list[str]:
    return [column.title for column in result.study.columns if column.is_tested]
