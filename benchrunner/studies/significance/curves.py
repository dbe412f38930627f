"""Curves of a study: where the series of a figure cross."""

from __future__ import annotations

from collections.abc import Mapping

from benchrunner.errors import Undefined, first_line
from benchrunner.statistics.crossings import Crossings, crossings
from benchrunner.statistics.paired_test import Side
from benchrunner.studies.cells import CellResult
from benchrunner.studies.significance.differences import ALPHA, Pairing, shares
from benchrunner.studies.study import Place, Study


def curve_crossings(
    study: Study, cells: Mapping[Place, CellResult], sides: Mapping[Place, Side]
) -> tuple[dict[Pairing, Crossings], dict[Place, str]]:
    """Find where series of a figure cross that are compared, and why some crossings are absent."""
    pairings = []
    series = [pair for pair in study.pairs if study.points(*pair)]
    for column in study.columns:
        if column.is_tested and column.task:
            pairings += [Pairing(*pair, column.name) for pair in series]
    found = {}
    absent = {}
    of_look = ALPHA * min(shares(study.looks))
    for pairing in pairings:
        try:
            points = _points(study, cells, sides, pairing)
            ours, theirs = zip(*points.values(), strict=True)
            found[pairing] = crossings(list(points), ours, theirs, alpha=of_look / len(pairings))
        except Undefined as reason:
            absent[pairing.places[0]] = first_line(reason)
    return found, absent


def _points(
    study: Study, cells: Mapping[Place, CellResult], sides: Mapping[Place, Side], pairing: Pairing
) -> dict[float, tuple[Side, Side]]:
    """Map the places at which two series both have answers to these; raise `Undefined` if they make no curves."""
    points = {}
    seeds = set()
    for at, system, other in study.points(pairing.system, pairing.other):
        ours, theirs = Pairing(system, other, pairing.column).places
        if ours in sides and theirs in sides:
            points[study.place(at, cells[ours].cell) or 0.0] = (sides[ours], sides[theirs])
            for place in (ours, theirs):
                seeds.add(tuple(fit.seed for fit in cells[place].restarts))
    if len(points) < 2 or min(points) <= 0 or len(seeds) > 1:
        raise Undefined("a crossing needs two places above 0, and answers of the same seeds at all of them")
    return points
