"""Keep a study in its file, under a name, while it runs: the plan before the fits start, and the outcome at the end."""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import final

from benchrunner.errors import RequestError
from benchrunner.fits.cost import Cost
from benchrunner.io.decoding import from_json
from benchrunner.io.identity import identity
from benchrunner.io.json_form import as_json, fields_json
from benchrunner.io.seals import write_sealed
from benchrunner.metrics import Score
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import Cell, CellResult, Figure
from benchrunner.studies.kept.kept_study import (
    FORMAT,
    KeptCell,
    KeptFigure,
    KeptStudy,
    find_study,
    study_path,
)
from benchrunner.studies.predictions import PredictionIds
from benchrunner.studies.study import Place, Study
from benchrunner.studies.system_names import CUT
from benchrunner.tasks.task import Term

LONGEST_NAME = 100
"""Characters of a study's name, so that every file system takes its file."""
LONGEST_WORD = 24
"""Characters of a backbone or task in a derived name."""
MANY = 3
"""From this number on, a derived name counts backbones or tasks instead of naming them."""


@final
class StudyKeeper:
    """Writes the file of one kept study.

    A file of the same name is replaced. If it holds the same request, its dates and the outcome of equal cells stay.
    """

    def __init__(self, runner: Runner, name: str | None, study: Study, *, command: Sequence[str] = ()) -> None:
        self.name = check_name(name or derived_name(study))
        self._path = study_path(runner.workspace.runs, self.name)
        data = runner.workspace.data
        asked = KeptStudy(
            FORMAT,
            self.name,
            tuple(command),
            runner.plugins.core.version,
            started=_now(),
            ended=None,
            study=study.without_cells,
            cells=_kept_cells(study),
            data=data and data.absolute(),
        )
        self.kept = from_json(KeptStudy, fields_json(asked), self._path)  # equal to what a reader of the file gets
        self._before: KeptStudy | None = None
        with contextlib.suppress(RequestError):  # no such study, or a damaged file, which is written anew
            before = find_study(runner.workspace.runs, self.name)
            if before.request == self.kept.request:
                self._before = before
                words = self.kept.command or before.command
                self.kept = replace(self.kept, command=words, started=before.started, costs=before.costs)

    def planned(self, cells: Iterable[Cell]) -> None:
        """Add the planned fits of some cells and write the file, before the fits start."""
        before = {cell.key: cell for cell in self._before.cells} if self._before else {}
        planned = []
        for cell in map(KeptCell.of, cells):
            known = before.get(cell.key, cell)
            # An earlier outcome is kept if it has all fits that are planned now.
            planned.append(known if set(cell.fits) <= set(known.fits) else cell)
        self._replace(planned)
        self._write()

    def _replace(self, changed: Iterable[KeptCell]) -> None:
        """Give cells their fits and outcomes; what was asked stays, such as the backbone before its first task."""
        changed_cells = {cell.key: cell for cell in changed}
        cells = []
        for cell in self.kept.cells:
            new = changed_cells.get(cell.key, cell)
            cells.append(replace(new, backbone=cell.backbone))
        self.kept = replace(self.kept, cells=tuple(cells))

    def _write(self) -> None:
        write_sealed(self._path, fields_json(self.kept, defaults=False))

    def finished(self, results: Iterable[CellResult], ids: PredictionIds, baseline: Mapping[Term, Score]) -> None:
        """Add the outcome of planned cells, and the scores of majority answers."""
        self._replace(KeptCell.of(result.cell).with_outcome(result, ids) for result in results)
        self.kept = replace(self.kept, baseline=tuple(baseline.items()))
        self._write()

    def complete(self, others: Mapping[Place, Figure]) -> None:
        """Write that every fit is finished, with the figures that do not follow from the fits' scores."""
        figures = [KeptFigure(system, column, figure) for (system, column), figure in others.items()]
        self.kept = replace(self.kept, figures=tuple(figures), ended=_now())
        if self._before is not None:
            repeated = replace(self.kept, ended=self._before.ended)
            if fields_json(repeated) == fields_json(replace(self._before, path=None)):
                self.kept = repeated
        self._write()

    def measured(self, costs: Sequence[Cost]) -> None:
        """Add the measured costs of the systems to the file of the complete study."""
        self.kept = replace(self.kept, costs=tuple(costs))
        self._write()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _kept_cells(study: Study) -> tuple[KeptCell, ...]:
    return tuple(map(KeptCell.of, (*study.stages, *study.cells)))


def check_name(name: str) -> str:
    """Return `name` unchanged if a study may be kept under it; raise a `RequestError` if it cannot be a file's name."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", name) or len(name) > LONGEST_NAME:
        raise RequestError(
            f"A study's name has letters, digits and . _ + - only, begins with a letter or digit and is at most "
            f"{LONGEST_NAME} characters long, not '{name}'."
        )
    return name


def derived_name(study: Study) -> str:
    """Name a study by its file and scale, or by its backbones, its methods if they are several, and its tasks.

    Six digits of a hash tell it from other requests about the same.
    """
    asked = replace(study.without_cells, path=None)  # the folder of a file changes nothing
    digits = identity({"study": as_json(asked), "cells": as_json(_kept_cells(study))})[:6]
    if study.name:
        return f"{_word(study.name.removesuffix('.toml'))}-{_word(study.scale.name)}-{digits}"
    compared = _listed(study.compared if len(study.methods) < 2 else study.backbones, "backbones")
    if len(study.methods) > 1:
        compared += f"-by-{_listed(study.methods, 'methods')}"
    return f"{compared}-on-{_tasks([task.name for task in study.tasks])}-{digits}"


def _listed(names: Sequence[str], kind: str) -> str:
    return "-vs-".join(map(_word, names)) if len(names) < MANY else f"{len(names)}-{kind}"


def _tasks(tasks: Sequence[str]) -> str:
    if len(tasks) < MANY:
        return "-".join(map(_word, tasks))
    suites = {task.partition("/")[0] for task in tasks}
    return f"{len(tasks)}-tasks" if len(suites) > 1 else f"{len(tasks)}-{_word(suites.pop())}-tasks"


def _word(name: str) -> str:
    """Shorten a name for a study's name: without namespace or parent folders, with only letters, digits, - and ."""
    name = name.removeprefix(f"{CUT}/").removesuffix(f"/{CUT}")  # of a shortened path
    is_path = name.startswith(("/", ".", "~"))
    own = Path(name.rstrip("/")).name if is_path else name.partition("/")[2] or name
    word = re.sub(r"[^A-Za-z0-9.]+", "-", own).strip("-.")
    return word[:LONGEST_WORD].rstrip("-.") or "unnamed"
