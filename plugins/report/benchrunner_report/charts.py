"""The charts of a report, as SVG with titles and descriptions for screen readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchrunner.results import Result
from benchrunner_report.disagreement import Agreement
from benchrunner_report.fit_figures import Curve, GridPoint
from benchrunner_report.section import Section
from benchrunner_report.slices import Slice
from benchrunner_report.svg import SHAPES, Scale, element, marker, path, short

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, LEFT, RIGHT, TOP = 460.0, 48.0, 14.0, 12.0
"""Size of a drawing and its margins, in units of the drawing. Pages scale it to their columns."""

LONGEST_LABEL = 26
"""Largest number of characters of a label in a drawing. The title of a longer label has the whole text."""


def _drawing(title: str, about: str, height: float, parts: Sequence[Markup], name: str) -> Markup:
    return element(
        "svg",
        element("title", title, id=f"{name}-t"),
        element("desc", about, id=f"{name}-d"),
        *parts,
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        role="img",
        aria_labelledby=f"{name}-t {name}-d",
        class_="chart",
    )


def _cut(text: str) -> str:
    """Cut the beginning of a long name: paths and names with an owner usually differ at the end."""
    return text if len(text) <= LONGEST_LABEL else f"…{text[1 - LONGEST_LABEL :]}"


def _named(text: str, x: float, y: float, kind: str) -> Markup:
    """Write a name, cut to `LONGEST_LABEL`, with the whole name as its title."""
    return element("text", element("title", text), _cut(text), x=x, y=y, class_=kind)


def _bottom_axis(scale: Scale, top: float, bottom: float, label: str) -> Iterator[Markup]:
    for value in scale.ticks():
        yield element("line", x1=scale(value), x2=scale(value), y1=top, y2=bottom, class_="grid")
        yield element("text", short(value), x=scale(value), y=bottom + 16, text_anchor="middle", class_="tick")
    yield element("text", label, x=(scale.start + scale.end) / 2, y=bottom + 34, text_anchor="middle", class_="axis")


def _left_axis(scale: Scale, left: float, right: float, label: str) -> Iterator[Markup]:
    for value in scale.ticks(5):
        yield element("line", x1=left, x2=right, y1=scale(value), y2=scale(value), class_="grid")
        yield element("text", short(value), x=left - 6, y=scale(value) + 4, text_anchor="end", class_="tick")
    yield element("text", label, x=left - 40, y=TOP + 2, class_="axis")


def restarts_chart(section: Section) -> Markup:
    """Draw the restarts of each system as points, with the mean and its interval over other examples."""
    left, line = 12.0, 44.0
    scores, means, intervals = section.values, section.means, section.intervals
    values = list(means.values())
    for drawn in (*scores.values(), *intervals.values()):
        values += drawn
    majority = [] if section.majority is None else [section.majority]
    spread = max(values, default=1.0) - min(values, default=0.0)
    # A majority far below all scores is not drawn: the scale would have no room left for the scores.
    near = [value for value in majority if min(values, default=0) - value <= max(1.5 * spread, 5)]
    scale = Scale.of([*values, *near], left, WIDTH - RIGHT)
    height = TOP + line * len(section.systems)
    parts = list(_bottom_axis(scale, TOP, height, section.term.metric))
    if near:
        parts.append(element("line", x1=scale(near[0]), x2=scale(near[0]), y1=TOP, y2=height, class_="majority"))
        parts.append(element("text", "majority", x=scale(near[0]) + 4, y=height - 4, class_="tick"))
    for number, name in enumerate(section.systems):
        y = TOP + line * number + 28
        parts.append(_named(name, left, y - 13, "name"))
        if name in intervals:
            low, high = intervals[name]
            kind = f"interval l s{number % SHAPES}"
            parts.append(element("line", x1=scale(low), x2=scale(high), y1=y, y2=y, class_=kind))
        for score in scores.get(name, ()):
            parts.append(marker(scale(score), y, number, 4, class_="point"))
        if name in means:
            mean = scale(means[name])
            parts.append(element("line", x1=mean, x2=mean, y1=y - 9, y2=y + 9, class_="mean"))
    listed: list[str] = []
    for name, of_restarts in scores.items():
        texts = ", ".join(f"{score:.1f}" for score in of_restarts)
        listed.append(f"{name}: {texts}")
    about = "; ".join(listed)
    return _drawing(f"Restarts on {section.task.name}", about, height + 40, parts, f"{section.anchor}-restarts")


def differences_chart(result: Result) -> Markup | None:
    """Draw the tested differences from the first system with their intervals; None if nothing was tested."""
    tests, titles = result.statistics.tests, {column.name: column.title for column in result.study.columns}
    if not tests:
        return None
    left, names = 170.0, result.study.names
    first = names[0] if len(set(result.statistics.firsts.values())) == 1 else "the first system"
    bounds, about = [0.0], list[str]()
    for (system, column), test in tests.items():
        scale_of, paired = result.figures[system, column].scale, test.comparison
        bounds += [value * scale_of for value in (paired.difference, paired.low, paired.high)]
        about.append(f"{titles[column]}, {system}: {paired.difference * scale_of:+.1f}")
    scale = Scale.of(bounds, left, WIDTH * 1.5 - RIGHT)
    marks: list[Markup] = []
    y, last = TOP, ""
    for (system, column), test in sorted(tests.items(), key=lambda item: list(titles).index(item[0][1])):
        factor, paired, number = result.figures[system, column].scale, test.comparison, names.index(system)
        difference, low, high = paired.difference * factor, paired.low * factor, paired.high * factor
        y += 30 if column != last else 20
        if column != last:
            marks.append(_named(titles[column], 0, y + 4, "name"))
        last = column
        clear = "" if test.is_clear else " unclear"
        kind = f"interval l s{number % SHAPES}{clear}"
        marks.append(element("line", x1=scale(low), x2=scale(high), y1=y, y2=y, class_=kind))
        words = f"{system}: {difference:+.1f}, from {low:+.1f} to {high:+.1f}, p {p_text(test.adjusted_p)}"
        shape = marker(scale(difference), y, number, 5, class_=clear.strip())
        marks.append(element("g", element("title", words), shape))
    bottom = y + 18
    parts = list(_bottom_axis(scale, TOP, bottom, f"difference from {first}"))
    parts.append(element("line", x1=scale(0), x2=scale(0), y1=TOP, y2=bottom, class_="zero"))
    return element(
        "svg",
        element("title", f"Differences from {first}", id="differences-t"),
        element("desc", "; ".join(about), id="differences-d"),
        *parts,
        *marks,
        viewBox=f"0 0 {WIDTH * 1.5:g} {bottom + 40:g}",
        role="img",
        aria_labelledby="differences-t differences-d",
        class_="chart wide",
    )


def p_text(p: float | None) -> str:
    """Write a p-value with two digits."""
    return "-" if p is None else "< 0.001" if p < 0.001 else f"{p:.2g}"


def curves_chart(section: Section) -> Markup | None:
    """Draw the training losses of all restarts over the steps; None if no log was kept."""
    if not section.curves:
        return None
    losses = [loss for curve in section.curves for _, loss in curve.points]
    steps = [step for curve in section.curves for step, _ in curve.points]
    bottom = 210.0
    horizontal, vertical = Scale.of([0.0, *steps], LEFT, WIDTH - RIGHT, space=0), Scale.of(losses, bottom, TOP + 12)
    parts = [*_bottom_axis(horizontal, TOP + 12, bottom, "step"), *_left_axis(vertical, LEFT, WIDTH - RIGHT, "loss")]
    for curve in section.curves:
        parts.append(_curve(curve, section.systems.index(curve.system), horizontal, vertical))
    about = f"Training losses of {len(section.curves)} fits"
    return _drawing(f"Learning curves on {section.task.name}", about, bottom + 40, parts, f"{section.anchor}-curves")


def _curve(curve: Curve, series: int, horizontal: Scale, vertical: Scale) -> Markup:
    points = [(horizontal(step), vertical(loss)) for step, loss in curve.points]
    title = element("title", f"{curve.system}, seed {curve.seed}")
    end = marker(*points[-1], series, 3.5)
    return element("g", title, path(points, class_=f"curve l s{series % SHAPES}"), end)


def grid_chart(section: Section) -> Markup | None:
    """Draw every grid point with its restarts; None if there is only one grid point."""
    labels = list(dict.fromkeys(point.label for point in section.grid))
    if len(labels) < 2:
        return None
    scale = Scale.of([score for point in section.grid for score in point.scores], 120, WIDTH - RIGHT)
    step = max(16.0 * len(section.systems) + 10, 30)
    height = TOP + step * len(labels)
    parts = list(_bottom_axis(scale, TOP, height, section.term.metric))
    for place, label in enumerate(labels):
        y = TOP + step * place
        parts.append(_named(label, 0, y + step / 2 + 4, "name small"))
        points = [point for point in section.grid if point.label == label]
        for point in points:
            series = section.systems.index(point.system)
            parts += _grid_marks(point, y + 13 + 16 * series, series, scale)
    about = "; ".join(
        f"{point.system} {point.label}: mean {sum(point.scores) / len(point.scores):.1f}"
        + (", chosen" if point.is_chosen else "")
        for point in section.grid
        if point.scores
    )
    return _drawing(f"Grid on {section.task.name}", about, height + 40, parts, f"{section.anchor}-grid")


def _grid_marks(point: GridPoint, y: float, series: int, scale: Scale) -> Iterator[Markup]:
    for score in point.scores:
        yield marker(scale(score), y, series, 3.2, class_="point")
    if point.scores:
        mean = sum(point.scores) / len(point.scores)
        chosen = "chosen" if point.is_chosen else ""
        title = element("title", f"{point.system}, {point.label}: {mean:.1f}{', chosen' if chosen else ''}")
        yield element("g", title, marker(scale(mean), y, series, 6, class_=f"hollow {chosen}"))


def trials_chart(section: Section) -> Markup | None:
    """Draw the best score to expect after 1, 2, ... trials; None for fewer than two trials."""
    trials = section.trials
    longest = max((len(values) for values in trials.values()), default=0)
    if longest < 2:
        return None
    bottom = 210.0
    horizontal = Scale.of([1.0, longest], LEFT, WIDTH - RIGHT, space=0.03)
    vertical = Scale.of([value for values in trials.values() for value in values], bottom, TOP + 12)
    parts = [
        *_bottom_axis(horizontal, TOP + 12, bottom, "trials (fits of all grid points)"),
        *_left_axis(vertical, LEFT, WIDTH - RIGHT, section.term.metric),
    ]
    for name, values in trials.items():
        series = section.systems.index(name)
        points = [(horizontal(number), vertical(value)) for number, value in enumerate(values, start=1)]
        marks = [marker(x, y, series, 3.2) for x, y in points]
        parts.append(element("g", element("title", name), path(points, class_=f"curve l s{series % SHAPES}"), *marks))
    about = "; ".join(f"{name}: {values[0]:.1f} to {values[-1]:.1f}" for name, values in trials.items())
    return _drawing(
        f"Expected best of trials on {section.task.name}", about, bottom + 40, parts, f"{section.anchor}-trials"
    )


def slices_chart(slices: Sequence[Slice], section: Section, kind: str) -> Markup | None:
    """Draw the share of right answers in each slice, with a marker for each system; None without slices."""
    if not slices:
        return None
    left, step = 150.0, 34.0
    scale = Scale.of([100 * share for part in slices for share in part.shares.values()], left, WIDTH - RIGHT)
    height = TOP + step * len(slices)
    parts, listed = list(_bottom_axis(scale, TOP, height, "% of answers that are right")), list[str]()
    for place, part in enumerate(slices):
        y = TOP + step * place + step / 2
        name = f"{part.name} ({part.rows:,})"
        parts.append(_named(name, 0, y + 4, "name small"))
        places = [scale(100 * share) for share in part.shares.values()]
        parts.append(element("line", x1=min(places), x2=max(places), y1=y, y2=y, class_="range"))
        for backbone, share in part.shares.items():
            series = section.systems.index(backbone)
            title = element("title", f"{backbone}: {100 * share:.1f} %")
            parts.append(element("g", title, marker(scale(100 * share), y, series, 5)))
        shares = ", ".join(f"{backbone} {100 * share:.1f} %" for backbone, share in part.shares.items())
        listed.append(f"{part.name}: {shares}")
    about = "; ".join(listed)
    return _drawing(
        f"Right answers by {kind} on {section.task.name}", about, height + 40, parts, f"{section.anchor}-{kind}"
    )


def agreement_bar(agreement: Agreement, backbones: Sequence[str]) -> Markup:
    """Draw a bar whose parts are the rows that both, only one or none of two backbones answer right."""
    total = max(agreement.both + agreement.only_first + agreement.only_second + agreement.neither, 1)
    parts: list[Markup] = []
    x = 0.0
    for count, name in (
        (agreement.both, "both"),
        (agreement.only_first, f"only s{backbones.index(agreement.first) % SHAPES}"),
        (agreement.only_second, f"only s{backbones.index(agreement.second) % SHAPES}"),
        (agreement.neither, "neither"),
    ):
        width = 100 * count / total
        parts.append(element("rect", x=x, y=0, width=width, height=10, class_=name))
        x += width
    return element("svg", *parts, viewBox="0 0 100 10", preserveAspectRatio="none", class_="bar", aria_hidden="true")


Line = Mapping[str, Any]
"""A line of `comparison.series`: the figures of a series of systems along an axis."""


def series_chart(column: str, lines: Sequence[Line], axis: str, number: int) -> Markup | None:
    """Draw the figures of one column along the axis of a study, with a line for each series of systems.

    `number` makes the ids of the drawing unique. None for fewer than two points.
    """
    points = [point for line in lines for point in _points(line)]
    if len(points) < 2:
        return None
    bottom, bounds = 230.0, list[float]()
    for _, mean, deviation in points:
        bounds += (mean - deviation, mean + deviation)
    horizontal, vertical = (
        Scale.of([at for at, _, _ in points], LEFT, WIDTH - RIGHT),
        Scale.of(bounds, bottom, TOP + 12),
    )
    parts = [*_bottom_axis(horizontal, TOP + 12, bottom, axis), *_left_axis(vertical, LEFT, WIDTH - RIGHT, column)]
    about = list[str]()
    for series, line in enumerate(lines):
        parts.append(_series(line, series, horizontal, vertical))
        shown = ", ".join(f"{mean:.1f} at {short(at)}" for at, mean, _ in _points(line))
        about.append(f"{line['series'] or column}: {shown}")
    return _drawing(f"{column} along {axis}", "; ".join(about), bottom + 40, parts, f"series-{number}")


def _points(line: Line) -> Iterator[tuple[float, float, float]]:
    """Yield place, mean and deviation of each point that has a mean."""
    for at, mean, deviation in zip(line["at"], line["mean"], line["deviation"], strict=True):
        if mean is not None:
            yield at, mean, deviation or 0.0


def _series(line: Line, series: int, horizontal: Scale, vertical: Scale) -> Markup:
    parts: list[Markup] = []
    places: list[tuple[float, float]] = []
    for at, mean, deviation in _points(line):
        places.append((horizontal(at), vertical(mean)))
        if deviation:
            x, kind = horizontal(at), f"deviation l s{series % SHAPES}"
            ends = [(x, vertical(mean - deviation)), (x, vertical(mean + deviation))]
            parts.append(path(ends, class_=kind))
    marks = [marker(x, y, series, 4) for x, y in places]
    curve = path(places, class_=f"curve l s{series % SHAPES}")
    return element("g", element("title", line["series"]), *parts, curve, *marks)


def legend_marker(series: int) -> Markup:
    """Draw the marker of a series for a legend."""
    return element("svg", marker(8, 8, series, 5.5), viewBox="0 0 16 16", class_="key", aria_hidden="true")


def legend(names: Sequence[str]) -> Mapping[str, Markup]:
    """Map each name to its marker."""
    return {name: legend_marker(series) for series, name in enumerate(names)}
