"""Verifies a shared folder: every score is computed again from its answers and the verifier's own copy of the data."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

from benchrunner import FitError, RequestError, Task, Workspace, quoted
from benchrunner.engine import decoding, first_line
from benchrunner.results import CellResult, Fit, Plugins, Record, Result, Study, cells, select
from benchrunner_share.documents import statements
from benchrunner_share.documents.claims import Claims, checked_texts
from benchrunner_share.documents.contents import FORMAT, MANIFEST, STUDY, are_sealed, fit_name
from benchrunner_share.documents.samples import Samples
from benchrunner_share.documents.study_documents import Computation, StudyDocuments
from benchrunner_share.verifying.comparing import count_figures, value_differences
from benchrunner_share.verifying.copies import FitPlace, Trace, traced
from benchrunner_share.verifying.data_checks import OwnData, OwnRunners, own_runners
from benchrunner_share.verifying.file_checks import check_files
from benchrunner_share.verifying.findings import Findings
from benchrunner_share.verifying.plan_checks import (
    cell_place,
    plan_differences,
    repeated_cells,
    restricted,
)
from benchrunner_share.verifying.rebuilding import fit_ids, rebuilt_cell, understood
from benchrunner_share.verifying.received_answers import CellAnswers, ReceivedAnswers, VerifiedAnswers
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
    sealed: tuple[str, ...] = ()
    """Splits with answers that are not scored, because there are no labels here, such as "mine/mood (test)"."""
    opened: tuple[OpenedScore, ...] = ()
    """Scores of answers that were given without the labels, by the labels here."""

    @property
    def is_equal(self) -> bool:
        """Whether everything was verified and nothing differs."""
        return not self.differences and not self.unverified

    def as_json(self) -> dict[str, Any]:
        """Return the verification as JSON values."""
        facts = {"is_equal": self.is_equal, "proven": statements.PROVEN, "not_proven": statements.NOT_PROVEN}
        return {**vars(self), **facts}


@final
@dataclass(frozen=True)
class VerifiedStudy:
    """A shared study with the outcome of its verification."""

    verification: Verification
    content: Mapping[str, Any]
    """The content of `study.json`."""
    cells: tuple[CellResult, ...] = ()
    """The cells that were computed again, with the answers of the selected restarts."""
    computations: Mapping[str, Computation] = field(default_factory=dict)
    """Id of a fit -> how it was computed, as the folder claims."""
    traces: Mapping[Trace, FitPlace] = field(default_factory=dict)
    """Answers and seconds of a fit -> the backbone and the fit that have them."""


def verify_folder(path: Path, plugins: Plugins, workspace: Workspace) -> Verification:
    """Compute every score of a shared folder again from its answers and the data of a workspace.

    Nothing in the folder is run, and no link in it is followed. Raises a `RequestError` if the folder is no shared
    study. The backbones are not needed.
    """
    with own_runners(plugins, workspace) as runners:
        return verified_study(path, runners).verification


def verified_study(path: Path, runners: OwnRunners, *, keep_answers: bool = False) -> VerifiedStudy:
    """Verify a shared folder as `verify_folder` does, with runners that may serve many folders.

    `keep_answers` asks for the cells of the study, with the answers of the selected restarts.
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
            return _verified(folder, content, runners, keep_answers=keep_answers)
    except UnreadableFile as fault:
        raise RequestError(f"{path}: {fault}") from None


def _verified(
    folder: ReceivedFolder, content: Mapping[str, Any], runners: OwnRunners, *, keep_answers: bool
) -> VerifiedStudy:
    """Run every check and return what was found."""
    if not any(cell["scores"] for cell in content["result"]["cells"]):
        raise UnreadableFile("there is no score, so that there is nothing to verify.")
    findings = Findings()
    claims = Claims.of_content(content)
    checked_texts(content)
    data = OwnData(content, runners, findings)
    data.check()
    fits = _fits(folder, content, findings)
    _compare_versions(fits.values(), runners.plugins, data.tasks.values(), findings)
    answers = ReceivedAnswers(folder, data, fits, content)
    kept: list[CellResult] | None = [] if keep_answers else None
    study = _RebuiltStudy(folder, content, data, fits, answers, findings, kept)
    figures = study.compare(StudyDocuments(claims, answers, runners.plugins))
    check_files(folder, content, findings)
    computations = dict[str, Computation]()
    for name, fit in fits.items():
        with findings.faults_differ():
            computations[name] = answers.computation(fit)
    traces = traced(folder, content, computations, findings)
    verification = Verification(
        folder.path,
        claims.name,
        tuple(findings.differences),
        tuple(findings.unverified),
        tuple(findings.remarks),
        answers.scores,
        figures,
        answers.answers,
        folder.sha256(MANIFEST) if MANIFEST in folder.names else "",
        tuple(dict.fromkeys(study.sealed)),
        tuple(study.opened),
    )
    if kept is None:
        return VerifiedStudy(verification, content)
    return VerifiedStudy(verification, content, tuple(kept), computations, traces)


def _fits(folder: ReceivedFolder, content: Mapping[str, Any], findings: Findings) -> dict[str, Fit]:
    """Read every fit that a cell names, and those of majority answers; a fit whose file is damaged is left out."""
    fits = dict[str, Fit]()
    for fit_id in dict.fromkeys(fit_ids(content)):
        name = fit_name(fit_id)
        try:
            data = folder.json_object(name)
            with understood(name):
                fit = decoding.from_json(Fit, data["fit"], "fit")
        except UnreadableFile as fault:
            findings.differ(str(fault))
            continue
        if fit.id != fit_id:
            findings.differ(f"{name} holds the fit {fit.id}, not {fit_id}: it was edited.")
        else:
            fits[fit_id] = fit
    return fits


def _compare_versions(fits: Iterable[Fit], plugins: Plugins, tasks: Iterable[Task], findings: Findings) -> None:
    """Remark on plugins, and on libraries behind the tasks, of other versions than those that made the fits."""
    behind = itertools.chain.from_iterable(map(plugins.suppliers_of, tasks))
    own = {plugin.title: plugin.code for plugin in (*behind, plugins.core, *plugins.loaded)}
    for title, version in sorted({pair for fit in fits for pair in fit.suppliers.items()}):
        if title not in own:
            findings.remark(f"{quoted(title)} {quoted(version)} made fits and is not installed here.")
        elif own[title] != version:
            findings.remark(f"{quoted(title)} made fits with the version {quoted(version)}; here is {own[title]}.")


@final
@dataclass(frozen=True)
class _RebuiltStudy:
    """The study of a folder, rebuilt from its plan, its answers and the verifier's data."""

    _folder: ReceivedFolder
    _content: Mapping[str, Any]
    _data: OwnData
    _fits: Mapping[str, Fit]
    _answers: ReceivedAnswers
    _findings: Findings
    _kept: list[CellResult] | None
    """Where the verified cells are put with their answers; None if nobody asks for them."""
    sealed: list[str] = field(default_factory=list)
    """Splits with answers and without labels here."""
    opened: list[OpenedScore] = field(default_factory=list)
    """Scores by labels that the sender did not have."""

    def compare(self, documents: StudyDocuments) -> int:
        """Build all documents anew and compare them; return how many figures were computed again."""
        every = self._content["result"]["cells"]
        if not {cell["task"] for cell in every} <= self._content["tasks"].keys():
            raise UnreadableFile(f"{STUDY}: the scores have other tasks than the study.")
        verified = self._data.tasks.keys() - self._data.absent
        claimed = restricted(self._content, self._content["tasks"].keys() - verified)
        rebuilt = list[cells.Cell]()
        results = list[CellResult]()
        texts = dict[str, str]()
        for of_folder in claimed["result"]["cells"]:
            cell = self._cell(of_folder)
            if cell is not None:
                rebuilt.append(cell)
                try:
                    result = self._selected(cell, of_folder["lost"])
                    for name, text in documents.of_cell(result):
                        if name.endswith(".jsonl"):  # answers are many, and are not kept
                            self._compare_file(name, text)
                        else:
                            texts[name] = text
                    results.append(result)
                    self._keep(self._open(result, of_folder["lost"]))
                except (FitError, UnreadableFile) as error:
                    self._findings.differ(f"{cell_place(cell)} is not verified: {first_line(error)}")
                self._answers.forget()
        self._findings.differ_all(repeated_cells(rebuilt))
        if not results:
            return 0
        names = dict.fromkeys(cell.system for cell in rebuilt)
        systems = [{"name": name, "backbone": ""} for name in names]
        study = replace(decoding.from_json(Study, {"systems": systems, "columns": []}, STUDY), cells=tuple(rebuilt))
        of_study = Result(study, tuple(results), {})
        computed = documents.content(of_study)
        if claimed["samples"]:
            self._add_samples(documents.samples(of_study, computed), computed)
        if claimed is not self._content:  # averages miss terms, and the cells say why
            computed["result"]["averages"] = {}
        if self._data.differing:  # said already, in better words
            computed["data"] = claimed["data"]
        self._compare_json(claimed, computed)
        for name, text in texts.items():
            with self._findings.faults_differ():
                self._compare_file(name, text)
        return count_figures(computed["result"])

    def _open(self, result: CellResult, lost: Mapping[str, Any]) -> CellResult:
        """Return the result of a cell with the scores by labels that the sender did not have, and note these scores."""
        task = result.cell.task
        opened = [split for split in result.cell.tests if self._data.labelled(task, split) is not None]
        for split in result.cell.tests:
            rows = self._data.rows(task.name, split)
            if split not in opened and rows is not None and are_sealed(rows, task):
                self.sealed.append(f"{task.name} ({split})")
        if not opened or result.selected is None:
            return result
        result = self._selected(result.cell, lost, opened=True)
        assert result.selected is not None
        for term, figure in result.figures.items():
            if term.split in opened:
                majority = self._answers.opened_majority(result.selected, task, term.split).record
                score = OpenedScore(
                    result.cell.system,
                    task.name,
                    result.selected.method,
                    term.split,
                    term.metric,
                    figure,
                    majority.scores[term.metric].value,
                )
                self.opened.append(score)
        return result

    def _keep(self, result: CellResult) -> None:
        if self._kept is not None:
            answers = VerifiedAnswers.of_cell(result, self._answers)
            self._kept.append(replace(result, predictions=answers, runner=self._data.runner))

    def _compare_json(self, claimed: Mapping[str, Any], computed: Mapping[str, Any]) -> None:
        """Compare the content of the study; the places of its figures are named by their cells."""
        parts = ("cells", "averages")
        for part in parts:
            place = () if part == "cells" else (part,)
            own = computed["result"][part]
            self._findings.differ_all(value_differences(claimed["result"].get(part), own, place))
        shells = []
        for content in (claimed, computed):
            inner = {name: None if name in parts else value for name, value in content["result"].items()}
            shells.append({**content, "result": inner})
        self._findings.differ_all(value_differences(shells[0], shells[1], ()))

    def _add_samples(self, samples: Iterable[Samples], computed: Mapping[str, Any]) -> None:
        """Add what a study says of its samples, and compare their files."""
        for of_log in samples:
            computed["samples"].setdefault(of_log.backbone, {})[of_log.collection] = of_log.facts
            with self._findings.faults_differ():
                if self._folder.sha256(of_log.name) != of_log.facts["sha256"]:
                    self._findings.differ(f"{of_log.name} does not follow from the answers and the rows here.")

    def _compare_file(self, name: str, text: str) -> None:
        """Compare a document of a cell with that in the folder: an object, or the lines of a file of answers."""
        if self._folder.sha256(name) == hashlib.sha256(text.encode("utf-8")).hexdigest():
            return
        claimed: Any
        if name.endswith(".jsonl"):
            claimed = list(self._folder.json_lines(name))
            computed = list(map(json.loads, text.removesuffix("\n").split("\n")))
        else:
            claimed, computed = self._folder.json_object(name), json.loads(text)
        self._findings.differ_all(value_differences(claimed, computed, (name,)))

    def _cell(self, claimed: Mapping[str, Any]) -> cells.Cell | None:
        """Rebuild a cell and check its plan; None if some of its fits are missing."""
        place = f"{quoted(claimed['system'])} on {quoted(claimed['task'])}"
        fits = itertools.chain.from_iterable(point["fits"] for point in claimed["candidates"])
        missing = [fit for fit in fits if fit not in self._fits]
        if missing:
            self._findings.differ(f"{place} is not verified: the fit {quoted(missing[0])} is missing or damaged.")
            return None
        cell = rebuilt_cell(claimed, self._data.tasks[claimed["task"]], self._fits)
        revision = self._content["revisions"].get(cell.backbone)
        self._findings.differ_all(plan_differences(cell, revision, self._data.runner))
        if cell.fitting.search:
            self._findings.remark(f"{place}: the search was not repeated, so that other grid points may be missing.")
        return cell

    def _selected(self, cell: cells.Cell, lost: Mapping[str, Any], *, opened: bool = False) -> CellResult:
        """Select in a cell. Fits that the folder claims to be lost have no scores, with a remark.

        `opened` asks for the scores by labels that the sender did not have.
        """
        records = dict[str, Record]()
        for fit in cell.fits:
            if fit.id in lost:
                status, reason = lost[fit.id]
                if status not in ("diverged", "failed") or not isinstance(reason, str):
                    raise UnreadableFile(f"the fit {fit.id} is lost for no reason that a study has.")
                records[fit.id] = Record(fit.id, status, reason)
                self._findings.remark(f"The fit {fit.id} has no answers: it {status}, as the folder says.")
            else:
                records[fit.id] = Record(fit.id, "done")
        return select(cell, records, CellAnswers(self._answers, cell.task, opened=opened))
