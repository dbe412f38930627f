"""The charts of a report, as SVG with titles and descriptions for screen readers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchrunner.results import Result
from benchrunner_report.disagreement import Agreement
from benchrunner_report.drawing import LEFT, RIGHT, TOP, WIDTH, Drawing
from benchrunner_report.fit_figures import GridPoint
from benchrunner_report.section import Section
from benchrunner_report.slices import Slice
from benchrunner_report.svg import SHAPES, Point, Scale, element, marker, path, short

if TYPE_CHECKING:
    from markupsafe import Markup

Line = Mapping[str, Any]
"""A line of `comparison.series`: the figures of a series of systems along an axis."""


def restarts_chart(section: Section) -> Markup:
    """Draw the restarts of each system as points, with the mean and its interval over other examples."""
    scores = section.values
    means = section.means
    intervals = section.intervals
    values = list(means.values())
    for drawn in (*scores.values(), *intervals.values()):
        values += drawn
    majority = _near_majority(section, values)
    scale = Scale.of(values if majority is None else [*values, majority], 12, WIDTH - RIGHT)
    bottom = TOP + 44 * len(section.systems)
    drawing = Drawing(f"{section.anchor}-restarts", f"Restarts on {section.task.name}")
    drawing.bottom_axis(scale, TOP, bottom, section.term.metric)
    if majority is not None:
        x = scale(majority)
        drawing.line((x, TOP), (x, bottom), "majority")
        drawing.add(element("text", "majority", x=x + 4, y=bottom - 4, class_="tick"))
    for number, name in enumerate(section.systems):
        y = TOP + 44 * number + 28
        drawing.named(name, 12, y - 13, "name")
        if name in intervals:
            low, high = intervals[name]
            drawing.interval(scale(low), scale(high), y, number)
        for score in scores.get(name, ()):
            drawing.add(marker(scale(score), y, number, 4, class_="point"))
        if name in means:
            x = scale(means[name])
            drawing.line((x, y - 9), (x, y + 9), "mean")
    for name, of_restarts in scores.items():
        listed = ", ".join(f"{score:.1f}" for score in of_restarts)
        drawing.describe(f"{name}: {listed}")
    return drawing.finished(bottom)


def _near_majority(section: Section, values: Sequence[float]) -> float | None:
    """Return the score of the majority answer; None if it is far below all values, which need the scale's room."""
    if section.majority is None:
        return None
    lowest = min(values, default=0)
    spread = max(values, default=1.0) - lowest
    return section.majority if lowest - section.majority <= max(1.5 * spread, 5) else None


def differences_chart(result: Result) -> Markup | None:
    """Draw the tested differences with their intervals; None if nothing was tested."""
    tests = _shown_tests(result)
    names = (*result.study.names, *result.study.arms)
    if not tests:
        return None
    titles = {column.name: column.title for column in result.study.columns}
    different = {other for _, other, _ in tests}
    first = next(iter(different)) if len(different) == 1 else "the other system"
    if result.statistics.is_ranking:
        first = "the best figure"
    drawing = Drawing("differences", f"Differences from {first}", width=WIDTH * 1.5, kind="chart wide")
    bounds = [0.0]
    order = list(titles)
    for (system, other, column), test in tests.items():
        difference, low, high = _scaled(result, (system, column), test)
        bounds += (difference, low, high)
        less = f" less {other}" if len(different) > 1 else ""
        drawing.describe(f"{titles[column]}, {system}{less}: {difference:+.1f}")
    scale = Scale.of(bounds, 170, WIDTH * 1.5 - RIGHT)
    by_column = sorted(tests, key=lambda pairing: order.index(pairing[2]))
    heights, bottom = _heights(column for _, _, column in by_column)
    drawing.bottom_axis(scale, TOP, bottom, f"difference from {first}")
    drawing.line((scale(0), TOP), (scale(0), bottom), "zero")
    last = ""
    for pairing, y in zip(by_column, heights, strict=True):
        test = tests[pairing]
        system, other, column = pairing
        number = names.index(system)
        difference, low, high = _scaled(result, (system, column), test)
        if column != last:
            drawing.named(titles[column], 0, y + 4, "name")
        last = column
        unclear = "" if test.is_clear else "unclear"
        drawing.interval(scale(low), scale(high), y, number, f" {unclear}".rstrip())
        compared = f"{system} less {other}" if len(different) > 1 else system
        words = f"{compared}: {difference:+.1f}, from {low:+.1f} to {high:+.1f}, p {p_text(test.adjusted_p)}"
        drawing.mark(words, scale(difference), y, number, 5, unclear)
    return drawing.finished(bottom)


def _shown_tests(result: Result) -> dict[tuple[str, str, str], Any]:
    """Return the tests that are drawn, by system, other system and column.

    Of all pairs of many systems, these are the differences from the system with the best figure of each column.
    """
    statistics, figures = result.statistics, result.figures
    if not statistics.is_ranking:
        return {(system, other, column): test for (system, other, column), test in statistics.tests.items()}
    highest = dict[str, str]()
    for system, column in statistics.ranks:
        top = highest.setdefault(column, system)
        if (figures[system, column].mean.value or 0) > (figures[top, column].mean.value or 0):
            highest[column] = system
    shown = {}
    for (system, other, column), test in statistics.tests.items():
        if highest[column] == other:
            shown[system, other, column] = test
        elif highest[column] == system:
            shown[other, system, column] = test.reversed
    return shown


def _scaled(result: Result, place: tuple[str, str], test: Any) -> tuple[float, float, float]:
    """Return a tested difference and the ends of its interval, as tables show them."""
    scale = result.figures[place].scale
    paired = test.comparison
    return paired.difference * scale, paired.low * scale, paired.high * scale


def _heights(columns: Iterable[str]) -> tuple[list[float], float]:
    """Place a line for each entry, with more room where another column begins; return the bottom, too."""
    heights = list[float]()
    y = TOP
    last = ""
    for column in columns:
        y += 20 if column == last else 30
        heights.append(y)
        last = column
    return heights, y + 18


def p_text(p: float | None) -> str:
    """Write a p-value with two digits."""
    if p is None:
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def curves_chart(section: Section) -> Markup | None:
    """Draw the training losses of all restarts over the steps; None if no log was kept."""
    if not section.curves:
        return None
    steps = [0.0]
    losses = list[float]()
    for curve in section.curves:
        for step, loss in curve.points:
            steps.append(step)
            losses.append(loss)
    bottom = 210.0
    horizontal = Scale.of(steps, LEFT, WIDTH - RIGHT, space=0)
    vertical = Scale.of(losses, bottom, TOP + 12)
    drawing = Drawing(f"{section.anchor}-curves", f"Learning curves on {section.task.name}")
    drawing.bottom_axis(horizontal, TOP + 12, bottom, "step")
    drawing.left_axis(vertical, "loss")
    for curve in section.curves:
        series = section.systems.index(curve.system)
        points = [(horizontal(step), vertical(loss)) for step, loss in curve.points]
        drawing.curve(f"{curve.system}, seed {curve.seed}", points, series, [marker(*points[-1], series, 3.5)])
    drawing.describe(f"Training losses of {len(section.curves)} fits")
    return drawing.finished(bottom)


def grid_chart(section: Section) -> Markup | None:
    """Draw every grid point with its restarts; None if there is only one grid point."""
    by_label = dict[str, list[GridPoint]]()
    scores = list[float]()
    for point in section.grid:
        by_label.setdefault(point.label, []).append(point)
        scores += point.scores
    if len(by_label) < 2:
        return None
    scale = Scale.of(scores, 120, WIDTH - RIGHT)
    step = max(16.0 * len(section.systems) + 10, 30)
    bottom = TOP + step * len(by_label)
    drawing = Drawing(f"{section.anchor}-grid", f"Grid on {section.task.name}")
    drawing.bottom_axis(scale, TOP, bottom, section.term.metric)
    for place, (label, points) in enumerate(by_label.items()):
        y = TOP + step * place
        drawing.named(label, 0, y + step / 2 + 4, "name small")
        for point in points:
            series = section.systems.index(point.system)
            _draw_grid_point(drawing, point, y + 13 + 16 * series, series, scale)
    for point in section.grid:
        if point.mean is not None:
            chosen = ", chosen" if point.is_chosen else ""
            drawing.describe(f"{point.system} {point.label}: mean {point.mean:.1f}{chosen}")
    return drawing.finished(bottom)


def _draw_grid_point(drawing: Drawing, point: GridPoint, y: float, series: int, scale: Scale) -> None:
    for score in point.scores:
        drawing.add(marker(scale(score), y, series, 3.2, class_="point"))
    if point.mean is not None:
        chosen = ", chosen" if point.is_chosen else ""
        title = f"{point.system}, {point.label}: {point.mean:.1f}{chosen}"
        drawing.mark(title, scale(point.mean), y, series, 6, "hollow chosen" if point.is_chosen else "hollow")


def trials_chart(section: Section) -> Markup | None:
    """Draw the best score to expect after 1, 2, ... trials; None for fewer than two trials."""
    longest = 0
    scores = list[float]()
    for values in section.trials.values():
        longest = max(longest, len(values))
        scores += values
    if longest < 2:
        return None
    bottom = 210.0
    horizontal = Scale.of([1.0, longest], LEFT, WIDTH - RIGHT, space=0.03)
    vertical = Scale.of(scores, bottom, TOP + 12)
    drawing = Drawing(f"{section.anchor}-trials", f"Expected best of trials on {section.task.name}")
    drawing.bottom_axis(horizontal, TOP + 12, bottom, "trials (fits of all grid points)")
    drawing.left_axis(vertical, section.term.metric)
    for name, values in section.trials.items():
        series = section.systems.index(name)
        points = [(horizontal(number), vertical(value)) for number, value in enumerate(values, start=1)]
        drawing.curve(name, points, series, _markers(points, series, 3.2))
        drawing.describe(f"{name}: {values[0]:.1f} to {values[-1]:.1f}")
    return drawing.finished(bottom)


def _markers(points: Iterable[Point], series: int, size: float) -> list[Markup]:
    return [marker(x, y, series, size) for x, y in points]


def slices_chart(slices: Sequence[Slice], section: Section, kind: str) -> Markup | None:
    """Draw the share of right answers in each slice, with a marker for each system; None without slices."""
    if not slices:
        return None
    shares = list[float]()
    for part in slices:
        shares += part.percentages.values()
    scale = Scale.of(shares, 150, WIDTH - RIGHT)
    bottom = TOP + 34 * len(slices)
    drawing = Drawing(f"{section.anchor}-{kind}", f"Right answers by {kind} on {section.task.name}")
    drawing.bottom_axis(scale, TOP, bottom, "% of answers that are right")
    for place, part in enumerate(slices):
        y = TOP + 34 * place + 17
        drawing.named(f"{part.name} ({part.rows:,})", 0, y + 4, "name small")
        shares = list(part.percentages.values())
        drawing.line((scale(min(shares)), y), (scale(max(shares)), y), "range")
        listed = list[str]()
        for system, share in part.percentages.items():
            drawing.mark(f"{system}: {share:.1f} %", scale(share), y, section.systems.index(system), 5)
            listed.append(f"{system} {share:.1f} %")
        drawing.describe(f"{part.name}: {', '.join(listed)}")
    return drawing.finished(bottom)


def agreement_bar(agreement: Agreement, systems: Sequence[str]) -> Markup:
    """Draw a bar whose parts are the rows that both, only one or none of two systems answer right."""
    first, second = systems.index(agreement.first) % SHAPES, systems.index(agreement.second) % SHAPES
    counts = (
        (agreement.both, "both"),
        (agreement.only_first, f"only s{first}"),
        (agreement.only_second, f"only s{second}"),
        (agreement.neither, "neither"),
    )
    total = max(sum(count for count, _ in counts), 1)
    parts: list[Markup] = []
    x = 0.0
    for count, kind in counts:
        width = 100 * count / total
        parts.append(element("rect", x=x, y=0, width=width, height=10, class_=kind))
        x += width
    return element("svg", *parts, viewBox="0 0 100 10", preserveAspectRatio="none", class_="bar", aria_hidden="true")


def series_chart(column: str, lines: Sequence[Line], axis: str, number: int) -> Markup | None:
    """Draw the figures of one column along the axis of a study, with a line for each series of systems.

    `number` makes the ids of the drawing unique. None for fewer than two points.
    """
    places = list[float]()
    bounds = list[float]()
    for series in lines:
        for at, mean, deviation in _points(series):
            places.append(at)
            bounds += (mean - deviation, mean + deviation)
    if len(places) < 2:
        return None
    bottom = 230.0
    horizontal = Scale.of(places, LEFT, WIDTH - RIGHT)
    vertical = Scale.of(bounds, bottom, TOP + 12)
    drawing = Drawing(f"series-{number}", f"{column} along {axis}")
    drawing.bottom_axis(horizontal, TOP + 12, bottom, axis)
    drawing.left_axis(vertical, column)
    for place, series in enumerate(lines):
        points = list[Point]()
        listed = list[str]()
        bars: list[Markup] = []
        for at, mean, deviation in _points(series):
            x = horizontal(at)
            points.append((x, vertical(mean)))
            listed.append(f"{mean:.1f} at {short(at)}")
            if deviation:
                ends = (x, vertical(mean - deviation)), (x, vertical(mean + deviation))
                bars.append(path(ends, class_=f"deviation l s{place % SHAPES}"))
        drawing.curve(series["series"], points, place, _markers(points, place, 4), below=bars)
        drawing.describe(f"{series['series'] or column}: {', '.join(listed)}")
    return drawing.finished(bottom)


def _points(series: Line) -> Iterator[tuple[float, float, float]]:
    """Yield place, mean and deviation of each point that has a mean."""
    for at, mean, deviation in zip(series["at"], series["mean"], series["deviation"], strict=True):
        if mean is not None:
            yield at, mean, deviation or 0.0


def legend_marker(series: int) -> Markup:
    """Draw the marker of a series for a legend."""
    return element("svg", marker(8, 8, series, 5.5), viewBox="0 0 16 16", class_="key", aria_hidden="true")


def legend(names: Sequence[str]) -> Mapping[str, Markup]:
    """Map each name to its marker."""
    return {name: legend_marker(series) for series, name in enumerate(names)}
