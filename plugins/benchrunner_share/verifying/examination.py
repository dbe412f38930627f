"""Judges the facts of a shared folder with the data of a workspace: its plan, its fits and its answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from benchrunner import FitError, Term, quoted
from benchrunner.engine import decoding, first_line
from benchrunner.results import CellResult, Record, cells, select
from benchrunner_share.documents.contents import (
    STUDY,
    are_sealed,
    fit_name,
)
from benchrunner_share.documents.plan import Plan, PlannedCell, SharedFit, answered
from benchrunner_share.verifying.data_checks import OwnData, OwnRunners
from benchrunner_share.verifying.findings import Findings, understood
from benchrunner_share.verifying.plan_checks import plan_differences, rebuilt_cell, repeated_cells
from benchrunner_share.verifying.received_answers import CellAnswers, ReceivedAnswers
from benchrunner_share.verifying.received_folder import ReceivedFolder, UnreadableFile


@final
@dataclass(frozen=True)
class OpenedScore:
    """A score of a system on a split whose labels the sender did not have."""

    system: str
    task: str
    method: str
    split: str
    metric: str
    figure: cells.Figure
    """The score over the restarts of the grid point that dev selected."""
    majority: float | None


@final
class Examination:
    """The facts of a shared folder, and the results of its cells that follow from them."""

    def __init__(self, folder: ReceivedFolder, runners: OwnRunners, *, keep_answers: bool = False) -> None:
        """Take the folder, whose files may be those with facts alone, and the verifier's runners."""
        self.findings = Findings()
        self._folder = folder
        self.claimed = folder.json_object(STUDY)
        """The content of `study.json` in the folder."""
        self.plan = Plan.of_content(self.claimed, STUDY, UnreadableFile)
        self.data = OwnData(self.plan, runners, self.findings)
        self.fits = self._read_fits()
        self.answers = ReceivedAnswers(folder, self.data, self.plan.predictions)
        self.sealed = dict[str, None]()
        """Splits with answers and without labels here."""
        self.opened = list[OpenedScore]()
        """Scores by labels that the sender did not have."""
        self.kept = list[CellResult]()
        """The results of the cells with these scores; with `keep_answers`, also with answers."""
        self._keeps_answers = keep_answers
        self.revisions = dict[str, str]()
        self.results = dict[int, CellResult]()
        """Number of a cell -> its result without sealed figures; cells that could not be computed are left out."""
        for number, planned in enumerate(self.plan.cells):
            self._compute(number, planned)
            self.answers.forget()
        self.findings.differ_all(repeated_cells(result.cell for result in self.results.values()))
        if not self.has_gaps and not any(result.figures for result in self.results.values()):
            raise UnreadableFile("there is no score, so that there is nothing to verify.")

    @property
    def has_gaps(self) -> bool:
        """Whether some cells could not be computed."""
        return len(self.results) < len(self.plan.cells)

    def _read_fits(self) -> dict[str, SharedFit]:
        """Read every fit that a cell names; a fit whose file is damaged is left out."""
        fits = dict[str, SharedFit]()
        for cell in self.plan.cells:
            for fit in cell.fits:
                name = fit_name(fit)
                with self.findings.faults_differ(), understood(name):
                    data = self._folder.json_object(name)
                    shared = decoding.from_json(SharedFit, data, name, UnreadableFile).named(cell.task, cell.backbone)
                    if shared.fit.id != fit:
                        raise UnreadableFile(f"{name} holds the fit {shared.fit.id}, not {fit}: it was edited.")
                    fits[fit] = shared
        return fits

    def _compute(self, number: int, planned: PlannedCell) -> None:
        """Score the answers of a cell and select; note why that is not possible."""
        place = f"{quoted(planned.system)} on {quoted(planned.task)}"
        for name in planned.fits:
            if name not in self.fits:
                self.findings.differ(f"{place} is not verified: the fit {name} is missing or damaged.")
                return
            if revision := self.fits[name].fit.revision:
                self.revisions.setdefault(planned.backbone, revision)
        task = self.data.tasks.get(planned.task)
        if task is None:  # said already
            return
        cell = rebuilt_cell(planned, task, self.fits)
        self.findings.differ_all(plan_differences(cell, self.revisions.get(cell.backbone), self.data.runner))
        if cell.fitting.search:
            self.findings.remark(f"{place}: the search was not repeated, so that other grid points may be missing.")
        try:
            result = self._selected(cell, planned)
            for fit, split in answered(result):
                self.answers.find(fit, task, split)
            self._open(result, planned)
            self.results[number] = self._without_sealed(result)
        except (FitError, UnreadableFile) as error:
            self.findings.differ(f"{place} is not verified: {first_line(error)}")

    def _selected(self, cell: cells.Cell, planned: PlannedCell, *, opened: bool = False) -> CellResult:
        """Select in a cell. Fits that the folder claims to be lost have no scores, with a remark.

        `opened` asks for the scores by labels that the sender did not have.
        """
        records = dict[str, Record]()
        for fit in cell.fits:
            records[fit.id] = Record(fit.id, "done")
            if fit.id in planned.lost:
                records[fit.id] = Record(fit.id, *planned.lost[fit.id])
                status = records[fit.id].status
                self.findings.remark(f"The fit {fit.id} has no answers: it {status}, as the folder says.")
        return select(cell, records, CellAnswers(self.answers, cell.task, opened=opened))

    def _open(self, result: CellResult, planned: PlannedCell) -> None:
        """Note the scores of a cell by labels that the sender did not have, and keep its result with these scores."""
        task = result.cell.task
        opened = [split for split in result.cell.tests if self.data.labelled(task, split) is not None]
        for split in result.cell.tests:
            if split not in opened and are_sealed(self.data.rows(task.name, split), task):
                self.sealed[f"{task.name} ({split})"] = None
        if opened:
            result = self._selected(result.cell, planned, opened=True)
        for term, figure in result.figures.items():
            if term.split in opened and result.selected is not None:
                method, majority = result.selected.method, self.majority(result, term)
                self.opened.append(
                    OpenedScore(result.cell.system, task.name, method, term.split, term.metric, figure, majority)
                )
        if self._keeps_answers:
            answers = CellAnswers(self.answers, task, opened=True).keep(result)
            self.kept.append(replace(result, predictions=answers, runner=self.data.runner))

    def majority(self, result: CellResult, term: Term) -> float | None:
        """Return the score of the majority answer that the selected fit of a cell is compared with."""
        assert result.selected is not None
        majority = self.answers.majority(result.selected, result.cell.task, term.split)
        return majority.record.scores[term.metric].value

    def _without_sealed(self, result: CellResult) -> CellResult:
        """Return the result of a cell without the figures of splits whose labels the sender did not have."""
        task = result.cell.task
        figures = {}
        for term, figure in result.figures.items():
            if not are_sealed(self.data.rows(task.name, term.split), task):
                figures[term] = figure
        return replace(result, figures=figures)
