"""The cards of a whole study: its lines along an axis, mean ranks, and tested differences with their intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

from benchrunner.results import Result, Study, pairs
from benchrunner_report.drawings.charts import Card
from benchrunner_report.drawings.dots import Dots, dots_chart
from benchrunner_report.drawings.lines import Line, LineChart
from benchrunner_report.drawings.svg import is_constant

if TYPE_CHECKING:
    from markupsafe import Markup

Tested = tuple[str, str, str]
"""System, the other system and the column of a test."""
INTERVALS = "with 95% intervals over other examples and restarts; pale: not clear, may be chance; bars at an edge go on"
"""What a card of differences shows."""


def study_cards(result: Result) -> Iterator[Card]:
    """Yield the cards of the results."""
    yield from _figures(result)
    ranks = mean_rank_card(result)
    if ranks is not None:
        yield ranks
    yield from _differences(result)


def _figures(result: Result) -> Iterator[Card]:
    """Show the columns of a study that is a figure, along its axis, with a line for each series of systems."""
    axis = result.study.axis
    if not axis:
        return
    lines_of = dict[str, list[Line]]()
    for figure in result.statistics.series(result):
        points = []
        bars = []
        for place, mean, ends in zip(figure["at"], figure["mean"], figure["interval_over_examples"], strict=True):
            if place is not None and mean is not None:
                points.append((place, mean))
                bars.append(tuple(ends or (mean, mean)))
        if points:
            lines = lines_of.setdefault(figure["column"], [])
            lines.append(Line(figure["series"], len(lines), points, bars))
    for number, (column, lines) in enumerate(lines_of.items()):
        places = [place for line in lines for place, _ in line.points]
        if len(places) < 2:
            continue
        title = f"{column} along {axis}"
        is_logarithmic = min(places) > 0
        chart = LineChart(f"series-{number}", title, axis, column, lines, is_logarithmic=is_logarithmic)
        legend = [line.name for line in lines if line.name]
        about = f"along {axis}; bars: 95% interval over other examples"
        yield Card(column, about, chart.drawings(), legend=legend)


def mean_rank_card(result: Result) -> Card | None:
    """Show the mean rank of three systems or more over several columns, with the intervals that hold together."""
    ranks = result.statistics.mean_ranks
    lines = []
    values = list[float]()
    for series, name in enumerate(result.study.compared):
        if name in ranks:
            rank = ranks[name]
            dots = Dots(name, series, rank.mean, (rank.low, rank.high))
            values += dots.drawn
            lines.append(dots)
    columns = len(result.statistics.ranks)
    if len(lines) < 3 or columns < 2 or is_constant(values):
        return None
    lines.sort(key=lambda dots: dots.value or 0.0)
    about = f"over {columns} columns, 1 is the best; with intervals that hold together"
    return Card("Mean rank", about, [dots_chart("ranks", "Mean ranks", "mean rank", lines)])


def _differences(result: Result) -> Iterator[Card]:
    """Show the tested differences: a chart of tasks for a single pair of systems, else a chart for each task."""
    shown = _shown_tests(result)
    drawings: list[Markup] = []
    equal = []
    for (group, reference), lines in _groups(result, shown).items():
        values = [0.0]
        for dots in lines:
            values += dots.drawn
        if is_constant(values):
            equal.append(group)
            continue
        name, title = f"differences-{len(drawings)}", f"Differences from {reference}: {group}"
        drawings.append(dots_chart(name, title, group, lines, (reference, 0.0), limit=_limit(lines)))
    if shown:
        others = {other for _, other, _ in shown}
        first = others.pop() if len(others) == 1 else "the other system"
        title = f"Differences from {'the best figure' if result.statistics.is_ranking else first}"
        words = f"All answers are equal: {', '.join(equal)}." if equal else ""
        yield Card(title, INTERVALS, drawings, words=words)


def _groups(result: Result, shown: Mapping[Tested, pairs.Pair]) -> dict[tuple[str, str], list[Dots]]:
    """Return the lines of each chart of differences, by what the chart shows and by what all lines differ from."""
    titles = _titles(result.study, {column for _, _, column in shown})
    of_pair = len({pairing[:2] for pairing in shown}) == 1
    parts = dict[str, list[Tested]]()
    for pairing in shown:
        group = "difference" if of_pair else titles[pairing[2]]
        parts.setdefault(group, []).append(pairing)
    groups = {}
    for group, pairings in parts.items():
        others = {other for _, other, _ in pairings}
        reference = others.pop() if len(others) == 1 else ""
        lines = []
        for pairing in pairings:
            system, other, column = pairing
            name = system if reference else f"{system} less {other}"
            if of_pair:
                name = titles[column]
            lines.append(_difference(result, pairing, shown[pairing], name))
        groups[group, reference or "0"] = lines
    return groups


def _titles(study: Study, names: Collection[str]) -> dict[str, str]:
    """Name columns in few words: splits of one task, whose titles are equal, by their own names."""
    titles = {column.name: column.title for column in study.columns if column.name in names}
    count = Counter(titles.values())
    for name, title in titles.items():
        if count[title] > 1:
            titles[name] = name
    return titles


def _difference(result: Result, pairing: Tested, pair: pairs.Pair, name: str) -> Dots:
    """Return the line of a tested difference, on the scale of tables."""
    system, other, _ = pairing
    about = f" from {other}, interval {pair.interval_text}, p {p_text(pair.adjusted_p)}"
    series = (*result.study.names, *result.study.arms).index(system)
    kind = "" if pair.is_clear else "unclear"
    return Dots(name, series, pair.points, pair.ends, (), about, kind)


def _limit(lines: Sequence[Dots]) -> float:
    """Return where a chart of differences may end: all dots and half of the intervals are whole."""
    differences = [abs(dots.value or 0.0) for dots in lines]
    ends = [max(map(abs, dots.interval or (0.0,))) for dots in lines]
    return 1.2 * max(*differences, median(ends))


def _shown_tests(result: Result) -> dict[Tested, pairs.Pair]:
    """Return the tests that are drawn, by system, other system and column.

    Of all pairs of many systems, these are the differences from the system with the best figure of each column.
    """
    statistics = result.statistics
    if not statistics.is_ranking:
        return dict[Tested, pairs.Pair](statistics.tests.items())
    best = {}
    for column, ranks in statistics.ranks.items():
        best[column] = max(ranks, key=lambda name: _gain(result, name, column))
    shown = {}
    for (system, other, column), test in statistics.tests.items():
        if best[column] == other:
            shown[system, other, column] = test
        elif best[column] == system:
            shown[other, system, column] = test.reversed
    return shown


def _gain(result: Result, name: str, column: str) -> float:
    """Return the mean of a system in a column, so that more is better."""
    figure = result.figures[name, column]
    return figure.gain(figure.mean.value or 0)


def p_text(p: float | None) -> str:
    """Write a p-value with two digits."""
    if p is None:
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.2g}"
