"""The charts of a report, as SVG with titles and descriptions for screen readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from benchrunner.reports.contents import Curve, GridPoint, HeadlineCell, HeadlineRow, Series, TaskReport
from benchrunner.reports.disagreement import Agreement
from benchrunner.reports.slices import Slice
from benchrunner.reports.svg import SHAPES, Scale, element, marker, path, short

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


def restarts_chart(task: TaskReport) -> Markup:
    """Draw the restarts of each backbone as points, with the mean and its interval over other examples."""
    left = 12.0
    means = [value for cell in task.cells for value in (cell.mean, *(cell.interval or ())) if value is not None]
    values = [value for scores in task.scores.values() for value in scores]
    majority = [] if task.majority is None else [task.majority]
    spread = max([*means, *values], default=1.0) - min([*means, *values], default=0.0)
    # A majority far below all scores is not drawn: the scale would have no room left for the scores.
    near = [value for value in majority if min([*means, *values], default=0) - value <= max(1.5 * spread, 5)]
    scale = Scale.of([*means, *values, *near], left, WIDTH - RIGHT)
    height, line = TOP + 44 * len(task.cells), 44.0
    parts = list(_bottom_axis(scale, TOP, height, task.metric))
    if near:
        parts.append(element("line", x1=scale(near[0]), x2=scale(near[0]), y1=TOP, y2=height, class_="majority"))
        parts.append(element("text", "majority", x=scale(near[0]) + 4, y=height - 4, class_="tick"))
    for number, cell in enumerate(cell for cell in task.cells if cell.backbone in task.backbones):
        y = TOP + line * number + 28
        parts.append(_named(cell.backbone, left, y - 13, "name"))
        parts += _interval(cell, scale, y, number)
        for score in task.scores.get(cell.backbone, ()):
            parts.append(marker(scale(score), y, number, 4, class_="point"))
        if cell.mean is not None:
            parts.append(element("line", x1=scale(cell.mean), x2=scale(cell.mean), y1=y - 9, y2=y + 9, class_="mean"))
    about = "; ".join(
        f"{name}: {', '.join(f'{score:.1f}' for score in scores)}" for name, scores in task.scores.items()
    )
    return _drawing(f"Restarts on {task.name}", about, height + 40, parts, f"{task.anchor}-restarts")


def _interval(cell: HeadlineCell, scale: Scale, y: float, series: int) -> Iterator[Markup]:
    if cell.interval is not None:
        low, high = cell.interval
        yield element("line", x1=scale(low), x2=scale(high), y1=y, y2=y, class_=f"interval l s{series % SHAPES}")


def differences_chart(rows: Sequence[HeadlineRow], backbones: Sequence[str]) -> Markup | None:
    """Draw the tested differences from the first backbone with their intervals; None if nothing was tested."""
    tested = [
        (row, number, cell) for row in rows for number, cell in enumerate(row.cells) if cell.difference is not None
    ]
    if not tested:
        return None
    left = 170.0
    bounds = [value for _, _, cell in tested for value in cell.difference or ()]
    scale = Scale.of([*bounds, 0.0], left, WIDTH * 1.5 - RIGHT)
    marks: list[Markup] = []
    y, last = TOP, ""
    for row, number, cell in tested:
        assert cell.difference is not None
        difference, low, high = cell.difference
        y += 30 if row.name != last else 20
        if row.name != last:
            marks.append(_named(row.name, 0, y + 4, "name"))
        last = row.name
        series = f"s{number % SHAPES}"
        clear = "" if cell.is_clear else " unclear"
        marks.append(element("line", x1=scale(low), x2=scale(high), y1=y, y2=y, class_=f"interval l {series}{clear}"))
        words = f"{cell.backbone}: {difference:+.1f}, from {low:+.1f} to {high:+.1f}, p {p_text(cell.p)}"
        marks.append(
            element("g", element("title", words), marker(scale(difference), y, number, 5, class_=clear.strip()))
        )
    bottom = y + 18
    parts = list(_bottom_axis(scale, TOP, bottom, f"difference from {backbones[0]}"))
    parts.append(element("line", x1=scale(0), x2=scale(0), y1=TOP, y2=bottom, class_="zero"))
    about = "; ".join(
        f"{row.name}, {cell.backbone}: {cell.difference[0]:+.1f}" for row, _, cell in tested if cell.difference
    )
    return element(
        "svg",
        element("title", f"Differences from {backbones[0]}", id="differences-t"),
        element("desc", about, id="differences-d"),
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


def curves_chart(task: TaskReport) -> Markup | None:
    """Draw the training losses of all restarts over the steps; None if no log was kept."""
    if not task.curves:
        return None
    losses = [loss for curve in task.curves for _, loss in curve.points]
    steps = [step for curve in task.curves for step, _ in curve.points]
    bottom = 210.0
    horizontal, vertical = Scale.of([0.0, *steps], LEFT, WIDTH - RIGHT, space=0), Scale.of(losses, bottom, TOP + 12)
    parts = [*_bottom_axis(horizontal, TOP + 12, bottom, "step"), *_left_axis(vertical, LEFT, WIDTH - RIGHT, "loss")]
    for curve in task.curves:
        parts.append(_curve(curve, task.backbones.index(curve.backbone), horizontal, vertical))
    about = f"Training losses of {len(task.curves)} fits"
    return _drawing(f"Learning curves on {task.name}", about, bottom + 40, parts, f"{task.anchor}-curves")


def _curve(curve: Curve, series: int, horizontal: Scale, vertical: Scale) -> Markup:
    points = [(horizontal(step), vertical(loss)) for step, loss in curve.points]
    title = element("title", f"{curve.backbone}, seed {curve.seed}")
    end = marker(*points[-1], series, 3.5)
    return element("g", title, path(points, class_=f"curve l s{series % SHAPES}"), end)


def grid_chart(task: TaskReport) -> Markup | None:
    """Draw every grid point with its restarts; None if there is only one grid point."""
    labels = list(dict.fromkeys(point.label for point in task.grid))
    if len(labels) < 2:
        return None
    scale = Scale.of([score for point in task.grid for score in point.scores], 120, WIDTH - RIGHT)
    step = max(16.0 * len(task.backbones) + 10, 30)
    height = TOP + step * len(labels)
    parts = list(_bottom_axis(scale, TOP, height, task.metric))
    for place, label in enumerate(labels):
        y = TOP + step * place
        parts.append(_named(label, 0, y + step / 2 + 4, "name small"))
        points = [point for point in task.grid if point.label == label]
        for point in points:
            series = task.backbones.index(point.backbone)
            parts += _grid_marks(point, y + 13 + 16 * series, series, scale)
    about = "; ".join(
        f"{point.backbone} {point.label}: mean {sum(point.scores) / len(point.scores):.1f}"
        + (", chosen" if point.is_chosen else "")
        for point in task.grid
        if point.scores
    )
    return _drawing(f"Grid on {task.name}", about, height + 40, parts, f"{task.anchor}-grid")


def _grid_marks(point: GridPoint, y: float, series: int, scale: Scale) -> Iterator[Markup]:
    for score in point.scores:
        yield marker(scale(score), y, series, 3.2, class_="point")
    if point.scores:
        mean = sum(point.scores) / len(point.scores)
        chosen = "chosen" if point.is_chosen else ""
        title = element("title", f"{point.backbone}, {point.label}: {mean:.1f}{', chosen' if chosen else ''}")
        yield element("g", title, marker(scale(mean), y, series, 6, class_=f"hollow {chosen}"))


def trials_chart(task: TaskReport) -> Markup | None:
    """Draw the best score to expect after 1, 2, ... trials; None for fewer than two trials."""
    longest = max((len(values) for values in task.trials.values()), default=0)
    if longest < 2:
        return None
    bottom = 210.0
    horizontal = Scale.of([1.0, longest], LEFT, WIDTH - RIGHT, space=0.03)
    vertical = Scale.of([value for values in task.trials.values() for value in values], bottom, TOP + 12)
    parts = [
        *_bottom_axis(horizontal, TOP + 12, bottom, "trials (fits of all grid points)"),
        *_left_axis(vertical, LEFT, WIDTH - RIGHT, task.metric),
    ]
    for name, values in task.trials.items():
        series = task.backbones.index(name)
        points = [(horizontal(number), vertical(value)) for number, value in enumerate(values, start=1)]
        marks = [marker(x, y, series, 3.2) for x, y in points]
        parts.append(element("g", element("title", name), path(points, class_=f"curve l s{series % SHAPES}"), *marks))
    about = "; ".join(f"{name}: {values[0]:.1f} to {values[-1]:.1f}" for name, values in task.trials.items())
    return _drawing(f"Expected best of trials on {task.name}", about, bottom + 40, parts, f"{task.anchor}-trials")


def slices_chart(slices: Sequence[Slice], task: TaskReport, kind: str) -> Markup | None:
    """Draw the share of right answers in each slice, with a marker for each backbone; None without slices."""
    if not slices:
        return None
    left, step = 150.0, 34.0
    scale = Scale.of([100 * share for part in slices for share in part.shares.values()], left, WIDTH - RIGHT)
    height = TOP + step * len(slices)
    parts = list(_bottom_axis(scale, TOP, height, "% of answers that are right"))
    for place, part in enumerate(slices):
        y = TOP + step * place + step / 2
        name = f"{part.name} ({part.rows:,})"
        parts.append(_named(name, 0, y + 4, "name small"))
        places = [scale(100 * share) for share in part.shares.values()]
        parts.append(element("line", x1=min(places), x2=max(places), y1=y, y2=y, class_="range"))
        for backbone, share in part.shares.items():
            series = task.backbones.index(backbone)
            title = element("title", f"{backbone}: {100 * share:.1f} %")
            parts.append(element("g", title, marker(scale(100 * share), y, series, 5)))
    about = "; ".join(
        f"{part.name}: {', '.join(f'{name} {100 * share:.1f} %' for name, share in part.shares.items())}"
        for part in slices
    )
    return _drawing(f"Right answers by {kind} on {task.name}", about, height + 40, parts, f"{task.anchor}-{kind}")


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


def series_chart(column: str, lines: Sequence[Series], axis: str, number: int) -> Markup | None:
    """Draw the figures of one column of a study file along its axis, with a line for each series of systems.

    `number` makes the ids of the drawing unique. None for fewer than two points.
    """
    points = [(at, mean) for line in lines for at, mean in zip(line.at, line.means, strict=True) if mean is not None]
    if len(points) < 2:
        return None
    bottom = 230.0
    horizontal = Scale.of([at for at, _ in points], LEFT, WIDTH - RIGHT)
    bounds = [
        bound
        for line in lines
        for mean, deviation in zip(line.means, line.deviations, strict=True)
        if mean is not None
        for bound in (mean - (deviation or 0), mean + (deviation or 0))
    ]
    vertical = Scale.of(bounds, bottom, TOP + 12)
    parts = [*_bottom_axis(horizontal, TOP + 12, bottom, axis), *_left_axis(vertical, LEFT, WIDTH - RIGHT, column)]
    for series, line in enumerate(lines):
        parts.append(_series(line, series, horizontal, vertical))
    about = "; ".join(f"{line.name or column}: {', '.join(_points(line))}" for line in lines)
    return _drawing(f"{column} along {axis}", about, bottom + 40, parts, f"series-{number}")


def _points(line: Series) -> Iterator[str]:
    for at, mean in zip(line.at, line.means, strict=True):
        if mean is not None:
            yield f"{mean:.1f} at {short(at)}"


def _series(line: Series, series: int, horizontal: Scale, vertical: Scale) -> Markup:
    parts: list[Markup] = []
    places: list[tuple[float, float]] = []
    for at, mean, deviation in zip(line.at, line.means, line.deviations, strict=True):
        if mean is not None:
            places.append((horizontal(at), vertical(mean)))
            if deviation:
                x, kind = horizontal(at), f"deviation l s{series % SHAPES}"
                ends = [(x, vertical(mean - deviation)), (x, vertical(mean + deviation))]
                parts.append(path(ends, class_=kind))
    marks = [marker(x, y, series, 4) for x, y in places]
    curve = path(places, class_=f"curve l s{series % SHAPES}")
    return element("g", element("title", line.name), *parts, curve, *marks)


def legend_marker(series: int) -> Markup:
    """Draw the marker of a series for a legend."""
    return element("svg", marker(8, 8, series, 5.5), viewBox="0 0 16 16", class_="key", aria_hidden="true")


def legend(names: Sequence[str]) -> Mapping[str, Markup]:
    """Map each name to its marker."""
    return {name: legend_marker(series) for series, name in enumerate(names)}
