"""A result as it may be shared, and its report: without private names, and without rows of the data unless asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from benchrunner.results import Result, Runner
from benchrunner_report import gather, rendered
from benchrunner_share.private_texts import Private


def shared_report(shared: Result, runner: Runner, private: Private, *, with_rows: bool) -> str:
    """Return the report of a study as HTML. `shared` is the result with the names of `shared_result`."""
    report = gather(shared, runner, with_rows=with_rows)
    notes = tuple(dict.fromkeys(map(private.remark, report.notes)))
    return rendered(replace(report, notes=notes), private.without)


def shared_result(result: Result, private: Private, names: Mapping[str, str]) -> Result:
    """Return a result whose names of systems and backbones, and reasons of lost fits, may be shared."""
    systems = []
    cells = []
    for system in result.study.systems:
        arm, series = names[system.arm], names[system.series]
        systems.append(
            replace(system, name=names[system.name], backbone=names[system.backbone], arm=arm, series=series)
        )
    for cell in result.cells:
        asked = replace(cell.cell, system=names[cell.cell.system], backbone=names[cell.cell.backbone])
        lost = {}
        for fit, words in cell.lost.items():
            status, _, reason = words.partition(": ")
            lost[fit] = f"{status}: {private.remark(reason)}"
        cells.append(replace(cell, cell=asked, lost=lost))
    others = {(names[system], column): figure for (system, column), figure in result.others.items()}
    contrasts = tuple((names[name], names[first]) for name, first in result.study.contrasts)
    study = replace(result.study, systems=tuple(systems), contrasts=contrasts)
    costs = [replace(cost, system=names[cost.system], note=private.without(cost.note)) for cost in result.costs]
    return replace(result, study=study, cells=tuple(cells), others=others, costs=tuple(costs))
