"""Figures that a report reads from the folders of fits: learning curves, grid points, costs and recipes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import final

from benchrunner import BenchrunnerError, Metric
from benchrunner.engine import step_log
from benchrunner.results import CellResult, Fit, Record, Runner

CURVE_POINTS = 48
"""Largest number of points of a learning curve. A point is the mean of neighbouring lines of the log."""


@final
@dataclass(frozen=True)
class Curve:
    """The training loss of a system over its steps: the mean of its restarts."""

    system: str
    restarts: int
    points: tuple[tuple[float, float], ...]
    """Steps and losses, each loss the mean of some neighbouring steps; neighbouring points are equally far apart."""


@final
@dataclass(frozen=True)
class GridPoint:
    """A grid point of a system."""

    system: str
    label: str
    """Values of the recipe fields in which the grid points differ."""
    mean: float | None
    """The mean score of the restarts; None if none has a score."""
    is_chosen: bool


@final
@dataclass(frozen=True)
class Cost:
    """Cost of the fits of a cell, all grid points and restarts together."""

    cell: CellResult
    fits: int
    seconds: float
    tokens: float | None
    """Tokens read while training; None if a fit did not count them."""
    devices: tuple[str, ...]


def mean_curve(result: CellResult) -> Curve | None:
    """Return the mean loss of the restarts at the chosen grid point, over the steps that all their logs have."""
    logs = list[dict[int, float]]()
    if result.runner is None:
        return None
    for fit in result.restarts:
        losses = {}
        for line in step_log.read(result.runner.folder(fit).log):
            if isinstance(line.get("loss"), float):
                losses[line["step"]] = line["loss"]
        if losses:
            logs.append(losses)
    steps = sorted(set.intersection(*map(set, logs))) if logs else []
    if len(steps) > 2 and steps[-1] - steps[-2] < steps[1] - steps[0]:
        steps.pop()  # the last line of a log is of the last step, which may be nearer
    if not steps:
        return None
    means = []
    for step in steps:
        losses_at = [losses[step] for losses in logs]
        means.append(fmean(losses_at))
    return Curve(result.cell.system, len(logs), tuple(_thinned(steps, means)))


def _thinned(steps: Sequence[int], losses: Sequence[float]) -> Iterator[tuple[float, float]]:
    """Yield at most `CURVE_POINTS` points, each the mean of equally many neighbours.

    A rest at the end of fewer neighbours is left out, so that all points are equally far apart.
    """
    size = math.ceil(len(steps) / CURVE_POINTS)
    for start in range(0, len(steps) - size + 1, size):
        part = slice(start, start + size)
        yield round(fmean(steps[part]), 1), round(fmean(losses[part]), 4)


def grid_points(result: CellResult, split: str, metric: Metric) -> Iterator[GridPoint]:
    """Yield the grid points of a cell."""
    recipes = [candidate.recipe.as_dict() for candidate in result.cell.candidates]
    varied = []
    for name in dict.fromkeys(chain.from_iterable(recipes)):
        if len({str(recipe.get(name)) for recipe in recipes}) > 1:
            varied.append(name)
    for candidate, recipe in zip(result.cell.candidates, recipes, strict=True):
        label = ", ".join(f"{name} {_short(recipe[name])}" for name in varied or ["lr"])
        scores = []
        for fit in candidate.fits:
            score = None if fit.id in result.lost else _score(result, fit, split, metric)
            if score is not None:
                scores.append(score)
        mean = fmean(scores) if scores else None
        yield GridPoint(result.cell.system, label, mean, is_chosen=candidate.recipe == result.chosen)


def _score(result: CellResult, fit: Fit, split: str, metric: Metric) -> float | None:
    """Return the score of a fit as tables show it; None if it has no kept answers, or no such score."""
    try:
        value = result.predicted(fit, split).record.scores[metric.name].value
    except (BenchrunnerError, KeyError):
        return None
    return None if value is None else value * metric.scale


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def records_of(result: CellResult, runner: Runner) -> dict[str, Record]:
    """Read the records of all fits of a cell that have one."""
    records = {}
    for fit in result.cell.fits:
        record = runner.folder(fit).record()
        if record is not None:
            records[fit.id] = record
    return records


def cost(result: CellResult, records: Mapping[str, Record]) -> Cost:
    """Add up what the fits of a cell cost, over all grid points and restarts."""
    listed = [records[fit.id] for fit in result.cell.fits if fit.id in records]
    works = [record.work for record in listed]
    is_counted = bool(works) and all("train_tokens" in work for work in works)
    return Cost(
        cell=result,
        fits=len(listed),
        seconds=sum(record.timings.get("seconds", 0.0) for record in listed),
        tokens=sum(work["train_tokens"] for work in works) if is_counted else None,
        devices=tuple(sorted({_device(record) for record in listed} - {""})),
    )


def _device(record: Record) -> str:
    numerics = record.numerics
    threads = f", {numerics['threads']} thread(s)" if numerics.get("device") == "cpu" else ""
    return f"{numerics.get('device', '')} {numerics.get('device_name', '')}{threads}".strip()
