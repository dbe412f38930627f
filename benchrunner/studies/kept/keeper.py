"""Keep a study in its file while the study runs: the plan before the fits start, and the outcome at the end."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import final

from benchrunner.errors import RequestError
from benchrunner.fits.fit import Fit
from benchrunner.io.decoding import as_json, from_json
from benchrunner.io.seals import write_sealed
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import Cell, CellResult, Figure
from benchrunner.studies.kept.kept_form import (
    FORMAT,
    KeptCell,
    KeptContent,
    KeptFigure,
    KeptMajority,
    kept_cells,
    with_outcome,
    without_cells,
)
from benchrunner.studies.kept.kept_study import find_study, studies_folder
from benchrunner.studies.kept.naming import check_name
from benchrunner.studies.kept.noted_predictions import PredictionIds
from benchrunner.studies.study import Place, Study


@final
class StudyKeeper:
    """Writes the file of one kept study.

    A file of the same name is replaced. If it holds the same request, its dates and the outcome of equal cells stay.
    """

    def __init__(self, runner: Runner, name: str, study: Study, *, command: Sequence[str] = ()) -> None:
        self.name = check_name(name)
        self._path = studies_folder(runner.workspace.runs) / f"{name}.json"
        asked = KeptContent(
            FORMAT,
            name,
            tuple(command),
            runner.plugins.core.version,
            _now(),
            None,
            without_cells(study),
            kept_cells((*study.stages, *study.cells)),
        )
        self._content = from_json(KeptContent, as_json(asked), self._path)  # equal to what a reader of the file gets
        self._before: KeptContent | None = None
        with contextlib.suppress(RequestError):  # no such study, or a damaged file, which is written anew
            before = find_study(runner.workspace.runs, name).content
            if before.request == self._content.request:
                self._before = before
                words = self._content.command or before.command
                self._content = replace(self._content, command=words, started=before.started)

    def planned(self, cells: Iterable[Cell]) -> None:
        """Add the planned fits of some cells and write the file, before the fits start."""
        before = {} if self._before is None else {cell.key: cell for cell in self._before.cells}
        planned = dict[object, KeptCell]()
        for cell in kept_cells(cells):
            known = before.get(cell.key)
            is_equal = known is not None and known.candidates == cell.candidates
            planned[cell.key] = known if known is not None and is_equal else cell
        self._replace(planned)
        write_sealed(self._path, as_json(self._content, defaults=False))

    def _replace(self, planned: Mapping[object, KeptCell]) -> None:
        """Give cells their fits and outcomes; what was asked stays, such as the backbone before its first task."""
        cells = list[KeptCell]()
        for cell in self._content.cells:
            new = planned.get(cell.key)
            cells.append(cell if new is None else replace(new, backbone=cell.backbone))
        self._content = replace(self._content, cells=tuple(cells))

    def finished(self, results: Iterable[CellResult], ids: PredictionIds, majority: Mapping[str, Fit]) -> None:
        """Add the outcome of planned cells. The file is not written yet."""
        known = {cell.key: cell for cell in self._content.cells}
        outcomes = dict[object, KeptCell]()
        for result in results:
            key = (result.cell.system, result.cell.columns)
            outcomes[key] = with_outcome(known[key], result, ids)
        self._replace(outcomes)
        answers = dict(self._content.majority)
        for task, fit in majority.items():
            predictions = {}
            for (fit_id, name, split), prediction in ids.found.items():
                if (fit_id, name) == (fit.id, task):
                    predictions[split] = prediction
            answers.setdefault(task, KeptMajority(fit.id, predictions))
        self._content = replace(self._content, majority=answers)

    def complete(self, others: Mapping[Place, Figure], submissions: Mapping[str, tuple[str, ...]]) -> None:
        """Write that every fit is finished, with the figures that do not follow from the fits' scores."""
        figures = tuple(KeptFigure(*place, figure) for place, figure in others.items())
        content = replace(self._content, figures=figures, submissions=submissions)
        ended = None if self._before is None else self._before.ended
        is_repeated = self._before is not None and as_json(replace(content, ended=ended)) == as_json(self._before)
        self._content = replace(content, ended=ended if is_repeated else _now())
        write_sealed(self._path, as_json(self._content, defaults=False))


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
