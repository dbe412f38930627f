"""The cards of a whole study: its lines along an axis, mean ranks, and tested differences with their intervals."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from statistics import median

from benchrunner.results import Result, Study, pairs
from benchrunner_report.drawings.chart import Axis, Chart, Group
from benchrunner_report.drawings.groups import curve, curves, dot, dots
from benchrunner_report.drawings.scale import is_constant
from benchrunner_report.drawings.task_charts import Card

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
    lines_of = defaultdict[str, list[Group]](list)
    places_of = defaultdict[str, list[float]](list)
    for figure in result.statistics.series(result):
        points = []
        bars = []
        for place, mean, ends in zip(figure["at"], figure["mean"], figure["interval_over_examples"], strict=True):
            if place is not None and mean is not None:
                points.append((place, mean))
                bars.append(ends or (mean, mean))
        if points:
            lines = lines_of[figure["column"]]
            lines.append(curve(figure["series"], len(lines), points, bars))
            places_of[figure["column"]] += [place for place, _ in points]
    for number, (column, lines) in enumerate(lines_of.items()):
        places = sorted(places_of[column])
        if len(places) > 1:
            across = Axis(axis, is_logarithmic=places[0] > 0, ticks=places)
            chart = curves(f"series-{number}", f"{column} along {axis}", across, column, lines)
            legend = [line.name for line in lines if line.name]
            about = f"along {axis}; bars: 95% interval over other examples"
            yield Card(column, about, [chart], legend=legend)


def mean_rank_card(result: Result) -> Card | None:
    """Show the mean rank of three systems or more over several columns, with the intervals that hold together."""
    ranks = result.statistics.mean_ranks
    ordered = sorted(ranks, key=lambda name: ranks[name].mean)
    groups = []
    for place, name in enumerate(ordered):
        rank = ranks[name]
        groups.append(dot(name, result.study.compared.index(name), place, rank.mean, (rank.low, rank.high)))
    columns = len(result.statistics.ranks)
    chart = dots("ranks", "Mean ranks", Axis("mean rank"), groups)
    if len(groups) < 3 or columns < 2 or is_constant([rank for rank, _ in chart.points]):
        return None
    about = f"over {columns} columns, 1 is the best; with intervals that hold together"
    return Card("Mean rank", about, [chart])


def _differences(result: Result) -> Iterator[Card]:
    """Show the tested differences: a chart of tasks for a single pair of systems, else a chart for each task."""
    shown = _shown_tests(result)
    titles = _titles(result.study, {column for _, _, column in shown})
    of_pair = len({tested[:2] for tested in shown}) == 1
    parts = defaultdict[str, dict[Tested, pairs.Pair]](dict)
    for tested, pair in shown.items():
        parts["difference" if of_pair else titles[tested[2]]][tested] = pair
    charts = list[Chart]()
    equal = []
    for title, tests in parts.items():
        reference = _only({other for _, other, _ in tests})
        groups = []
        for place, (tested, pair) in enumerate(tests.items()):
            system, other, column = tested
            name = system if reference else f"{system} less {other}"
            groups.append(_difference(result, tested, pair, place, titles[column] if of_pair else name))
        name = f"Differences from {reference or '0'}: {title}"
        across = Axis(title, _limits(tests.values()))
        chart = dots(f"differences-{len(charts)}", name, across, groups, (reference or "0", 0.0))
        if is_constant([0.0, *(value for value, _ in chart.points)]):
            equal.append(title)
        else:
            charts.append(chart)
    if shown:
        first = _only({other for _, other, _ in shown}) or "the other system"
        title = f"Differences from {'the best figure' if result.statistics.is_ranking else first}"
        words = f"All answers are equal: {', '.join(equal)}." if equal else ""
        yield Card(title, INTERVALS, charts, words=words)


def _only(names: Collection[str]) -> str:
    """Return the only name; empty for several."""
    return next(iter(names)) if len(names) == 1 else ""


def _titles(study: Study, names: Collection[str]) -> dict[str, str]:
    """Name columns in few words: splits of one task, whose titles are equal, by their own names."""
    columns = [column for column in study.columns if column.name in names]
    count = Counter(column.title for column in columns)
    return {column.name: column.title if count[column.title] == 1 else column.name for column in columns}


def _difference(result: Result, tested: Tested, pair: pairs.Pair, place: int, name: str) -> Group:
    """Return the dot of a tested difference, on the scale of tables."""
    system, other, _ = tested
    p = "< 0.001" if pair.adjusted_p < 0.001 else f"{pair.adjusted_p:.2g}"
    about = f" from {other}, interval {pair.interval_text}, p {p}"
    series = (*result.study.names, *result.study.arms).index(system)
    return dot(name, series, place, pair.points, pair.ends, (), about, "" if pair.is_clear else "pale")


def _limits(tests: Collection[pairs.Pair]) -> tuple[float, float]:
    """Return where a chart of differences ends: all dots and half of the intervals are whole."""
    ends = [0.0]
    for test in tests:
        ends += test.ends
    points = [abs(test.points) for test in tests]
    furthest = [max(map(abs, test.ends)) for test in tests]
    limit = 1.2 * max(*points, median(furthest))
    return max(-limit, 1.1 * min(ends)), min(limit, 1.1 * max(ends))


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
