"""The report of a shared study: without rows of the data unless asked, and without private names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from benchrunner.results import Result, Runner
from benchrunner_report.gathering import gather
from benchrunner_report.rendering import rendered
from benchrunner_share.private_texts import Private


def shared_report(
    result: Result, runner: Runner, private: Private, names: Mapping[str, str], *, with_rows: bool
) -> str:
    """Return the report of a study as HTML. `names` maps systems and backbones to their shared names."""
    report = gather(renamed(result, names), runner, with_rows=with_rows)
    notes = tuple(dict.fromkeys(map(private.remark, report.notes)))
    return rendered(replace(report, notes=notes), private.without)


def renamed(result: Result, names: Mapping[str, str]) -> Result:
    """Return a result with the shared names of its systems and backbones."""
    systems = []
    cells = []
    for system in result.study.systems:
        systems.append(replace(system, name=names[system.name], backbone=names[system.backbone]))
    for cell in result.cells:
        asked = replace(cell.cell, system=names[cell.cell.system], backbone=names[cell.cell.backbone])
        cells.append(replace(cell, cell=asked))
    others = {(names[system], column): figure for (system, column), figure in result.others.items()}
    study = replace(result.study, systems=tuple(systems))
    return replace(result, study=study, cells=tuple(cells), others=others)
