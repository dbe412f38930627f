"""Verifies a shared folder: every score is computed again from its answers and the verifier's own copy of the data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from benchrunner.errors import FitError, RequestError, first_line
from benchrunner.fits.fit import Fit, Record
from benchrunner.io.decoding import from_json
from benchrunner.io.file_faults import quoted
from benchrunner.metrics import Score
from benchrunner.parameters.recipes import SPECIAL
from benchrunner.plugins.registry import Plugins
from benchrunner.sharing import statements
from benchrunner.sharing.comparing import count_figures, result_differences
from benchrunner.sharing.contents import FORMAT, MANIFEST, STUDY, fit_name, result_json
from benchrunner.sharing.data_checks import OwnData
from benchrunner.sharing.file_checks import check_derived_files, check_listed_files
from benchrunner.sharing.findings import Findings
from benchrunner.sharing.rebuilding import checked_id, checked_text, rebuilt_cell, understood
from benchrunner.sharing.received_folder import ReceivedFolder, UnreadableFile
from benchrunner.sharing.verified_predictions import VerifiedPredictions
from benchrunner.studies.cells import Candidate, Cell, CellResult
from benchrunner.studies.result import Result
from benchrunner.studies.selection import select
from benchrunner.studies.study import Study, System
from benchrunner.tasks.task import Term
from benchrunner.workspace import Workspace


@final
@dataclass(frozen=True)
class Verification:
    """The outcome of a verification."""

    folder: Path
    name: str
    """Name of the study."""
    differences: tuple[str, ...]
    """Everything that is not as the folder says; one sentence each."""
    unverified: tuple[str, ...]
    """What could not be computed here, for example without a copy of the data; one sentence each."""
    remarks: tuple[str, ...]
    """What a reader should know although nothing differs, such as other versions of plugins; one sentence each."""
    scores: int
    """Number of scores of single predictions that were computed again."""
    figures: int
    """Number of means, deviations, best scores and averages that were computed again."""
    answers: int
    """Number of answers that were scored again."""
    fingerprint: str
    """SHA-256 of the list of files, which holds the SHA-256 of each file; empty if there is no list."""

    @property
    def is_equal(self) -> bool:
        """Whether everything was verified and nothing differs."""
        return not self.differences and not self.unverified

    def as_json(self) -> dict[str, Any]:
        """Return the verification as JSON values."""
        facts = {"is_equal": self.is_equal, "proven": statements.PROVEN, "not_proven": statements.NOT_PROVEN}
        return {**vars(self), **facts}


def verify_folder(path: Path, plugins: Plugins, workspace: Workspace) -> Verification:
    """Compute every score of a shared folder again from its answers and the data of a workspace.

    Nothing in the folder is run, and no link in it is followed. Raises a `RequestError` if the folder is no shared
    study. The backbones are not needed.
    """
    folder = ReceivedFolder(path)
    try:
        content = folder.json_object(STUDY)
    except UnreadableFile as fault:
        raise RequestError(f"{path} is not a folder of 'benchrunner share': {fault}") from None
    if content.get("format") != FORMAT:
        raise RequestError(
            f"{path}: {STUDY} has the format {quoted(content.get('format'))}, and this version of benchrunner reads "
            f"{FORMAT}. Install the version that wrote the folder: {quoted(content.get('benchrunner'))}."
        )
    try:
        with understood(STUDY):
            return _verification(folder, content, plugins, workspace)
    except UnreadableFile as fault:
        raise RequestError(f"{path}: {fault}") from None


def _verification(
    folder: ReceivedFolder, content: Mapping[str, Any], plugins: Plugins, workspace: Workspace
) -> Verification:
    """Run every check and return what was found."""
    if not any(cell["scores"] for cell in content["result"]["cells"]):
        raise UnreadableFile("there is no score, so that there is nothing to verify.")
    findings = Findings()
    check_listed_files(folder, findings)
    data = OwnData(content, plugins, workspace, findings)
    data.check()
    fits = _fits(folder, content, findings)
    _compare_versions(fits.values(), plugins, findings)
    predictions = VerifiedPredictions(folder, data, fits, content["predictions"], content["majority"])
    figures = _ClaimedResult(fits, data, predictions, content, findings).check()
    check_derived_files(folder, content, findings)
    findings.differ_all(predictions.differences)
    return Verification(
        folder.path,
        str(content["name"]),
        findings.differences,
        findings.unverified,
        findings.remarks,
        predictions.scores,
        figures,
        predictions.answers,
        folder.sha256(MANIFEST) if MANIFEST in folder.names else "",
    )


def _fits(folder: ReceivedFolder, content: Mapping[str, Any], findings: Findings) -> dict[str, Fit]:
    """Read every fit that a cell names, and those of majority answers; a fit whose file is damaged is left out."""
    ids = [fit for cell in content["result"]["cells"] for point in cell["candidates"] for fit in point["fits"]]
    ids += [fit for of_tasks in content["majority"].values() for fit in of_tasks.values()]
    fits = dict[str, Fit]()
    for fit_id in dict.fromkeys(map(checked_id, ids)):
        name = fit_name(fit_id)
        try:
            data = folder.json_object(name)
            with understood(name):
                fit = from_json(Fit, data["fit"], "fit")
        except UnreadableFile as fault:
            findings.differ(str(fault))
            continue
        if fit.id != fit_id:
            findings.differ(f"{name} holds the fit {fit.id}, not {fit_id}: it was edited.")
        else:
            fits[fit_id] = fit
    return fits


def _compare_versions(fits: Iterable[Fit], plugins: Plugins, findings: Findings) -> None:
    """Remark on plugins of other versions than those that made the fits."""
    own = {plugin.title: plugin.version for plugin in (plugins.core, *plugins.loaded)}
    for title, version in sorted({pair for fit in fits for pair in fit.suppliers.items()}):
        if title not in own:
            findings.remark(f"The plugin {quoted(title)} {quoted(version)} made fits and is not installed here.")
        elif own[title] != version:
            findings.remark(f"{quoted(title)} made fits with the version {quoted(version)}; here is {own[title]}.")


_MAJORITY_ABSENT = "the majority answer is not verified"
"""Reason of the absent score of a majority answer whose rows or answers are missing."""


@final
class _ClaimedResult:
    """Verifies the result in the folder: selects again in every cell, and compares all figures."""

    def __init__(
        self,
        fits: Mapping[str, Fit],
        data: OwnData,
        predictions: VerifiedPredictions,
        content: Mapping[str, Any],
        findings: Findings,
    ) -> None:
        self._claimed, self._fits, self._predictions = content["result"], fits, predictions
        self._data, self._tasks, self._content, self._findings = data, data.tasks, content, findings

    def check(self) -> int:
        """Compare everything; return how many figures were computed again."""
        part, results, claimed_cells = self._claimed, list[CellResult](), list[Mapping[str, Any]]()
        self._check_tasks()
        for claimed in part["cells"]:
            if claimed["task"] in self._tasks and (result := self._cell_result(claimed)) is not None:
                results.append(result)
                claimed_cells.append(claimed)
        tasks = list(dict.fromkeys(claimed["task"] for claimed in part["cells"] if claimed["task"] in self._tasks))
        if not tasks:
            return 0
        cells = [result.cell for result in results]
        systems = tuple(System(checked_text(name), "") for name in part["systems"])
        study, baseline = Study(systems, (), tuple(cells)), dict(self._baseline(tasks))
        names = {name: name for name in study.names}
        for cell in cells:
            names |= {cell.system: cell.system, cell.backbone: cell.backbone}
        computed = result_json(Result(study, tuple(results), baseline), names, {})
        majority = [entry for entry in part["majority"] if entry["task"] in self._tasks and entry["score"] is not None]
        majority = [entry for entry in majority if self._is_computed(entry, baseline)]
        terms = {_term(entry) for entry in majority}
        computed["majority"] = [entry for entry in computed["majority"] if _term(entry) in terms]
        shown = {**part, "cells": claimed_cells, "majority": majority}
        if len(results) < len(part["cells"]):  # averages miss terms, and the cells say why
            shown["averages"] = computed["averages"] = {}
        self._findings.differ_all(result_differences(shown, computed))
        return count_figures(computed)

    def _check_tasks(self) -> None:
        """Raise an `UnreadableFile` if a score is of a task without cells: nobody would verify it."""
        part = self._claimed
        of_cells = {claimed["task"] for claimed in part["cells"]}
        of_majority = {entry["task"] for entry in part["majority"]}
        if not of_majority <= of_cells or not of_cells <= self._content["tasks"].keys():
            raise UnreadableFile(f"{STUDY}: the scores have other tasks than the study.")

    def _cell_result(self, claimed: Mapping[str, Any]) -> CellResult | None:
        """Select again in a cell; None if some of its fits or answers cannot be verified."""
        place = f"{quoted(claimed['system'])} on {quoted(claimed['task'])}"
        if missing := [fit for point in claimed["candidates"] for fit in point["fits"] if fit not in self._fits]:
            self._findings.differ(f"{place} is not verified: the fit {quoted(missing[0])} is missing or damaged.")
            return None
        cell = rebuilt_cell(claimed, self._tasks[claimed["task"]], self._fits)
        for point in cell.candidates:
            self._findings.differ_all(self._candidate_differences(point, cell, place))
        self._remark_on_missing_fits(cell, place)
        try:
            return self._selected(cell, claimed["lost"])
        except FitError as error:
            splits = [*cell.task.named("dev"), *cell.tests]
            self._not_computed(cell.task.name, splits, f"{place} is not verified: {first_line(error)}.")
        return None

    def _is_computed(self, entry: Mapping[str, Any], baseline: Mapping[Term, Score]) -> bool:
        """Return whether a score of the majority answer was computed again; if not, say so."""
        task, split, metric = _term(entry)
        score = baseline.get(Term(task, split, metric))
        if score is not None and score.reason != _MAJORITY_ABSENT:
            return True
        why = f"majority on {quoted(task)}, {quoted(split)} {quoted(metric)}: {quoted(entry['score'])} in the folder, "
        self._not_computed(task, [split], f"{why}not computed here: {_MAJORITY_ABSENT}.")
        return False

    def _not_computed(self, task: str, splits: Iterable[str], sentence: str) -> None:
        """Add a claim that was not computed again: a difference, unless this machine lacks the data."""
        if any(self._data.rows(task, split) is None for split in splits):
            self._findings.leave_unverified(sentence)
        else:
            self._findings.differ(sentence)

    def _candidate_differences(self, point: Candidate, cell: Cell, place: str) -> Iterator[str]:
        """Yield a sentence for each field of a grid point that is not as in the recipes of its fits."""
        recipe = point.recipe.as_dict()
        for fit in point.fits:
            if not fit.revision:  # the method needs no backbone and no recipe
                continue
            names = [name for name, value in fit.recipe.as_dict().items() if recipe.get(name) != value]
            for name in (name for name in names if name not in SPECIAL):  # a fit may ignore special fields
                yield f"{place}: {name} is not that of the fit {fit.id}."
            if self._content["revisions"].get(cell.backbone) != fit.revision:
                yield f"{place}: the revision of the backbone is not that of the fit {fit.id}."

    def _remark_on_missing_fits(self, cell: Cell, place: str) -> None:
        """Remark on a cell with fewer fits than the grid and the seeds of the study ask for."""
        if not all(fit.revision for fit in cell.fits):  # the method learns nothing, so it has one fit
            return
        asked = cell.fitting.grid.size * len(cell.fitting.seeds)
        if (count := len({fit.id for fit in cell.fits})) < asked:
            self._findings.remark(f"{place} has {count} fits, and the study asked for {asked}.")

    def _selected(self, cell: Cell, lost: Mapping[str, Any]) -> CellResult:
        """Select in a cell. Fits that the folder gives no scores for are taken as lost, with a remark."""
        records = dict[str, Record]()
        for fit in cell.fits:
            if fit.id in lost:
                has_diverged = lost[fit.id][0] == "diverged"
                records[fit.id] = Record(fit.id, "diverged" if has_diverged else "failed")
                self._findings.remark(
                    f"The fit {fit.id} has no answers: it {records[fit.id].status}, as the folder says."
                )
                continue
            records[fit.id] = Record(fit.id, "done")
            for split in cell.task.named("dev"):
                self._predictions.predict(fit, split)  # also of grid points that are not selected
        return select(cell, records, self._predictions)

    def _baseline(self, study_tasks: Iterable[str]) -> Iterator[tuple[Term, Score]]:
        """Yield the scores of the majority answer on every dev split."""
        for name in study_tasks:
            first = next((cell for cell in self._claimed["cells"] if cell["task"] == name), None)
            fit = None if first is None else first["candidates"][0]["fits"][0]
            majority = None if fit is None else self._content["majority"].get(fit, {}).get(name, fit)
            for split in self._tasks[name].named("dev"):
                record = None if majority is None else self._predictions.record(checked_id(majority), name, split)
                for metric in self._tasks[name].metrics:
                    absent = Score(None, _MAJORITY_ABSENT)
                    yield Term(name, split, metric.name), absent if record is None else record.scores[metric.name]


def _term(entry: Mapping[str, Any]) -> tuple[str, str, str]:
    return entry["task"], entry["split"], entry["metric"]
