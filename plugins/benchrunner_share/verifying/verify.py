"""Verifies a shared folder: its facts are judged with the verifier's data, and all files are made anew from them."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from benchrunner import RequestError, Workspace, quoted
from benchrunner.results import CellResult, Plugins
from benchrunner_share.documents import statements
from benchrunner_share.documents.contents import FORMAT, MANIFEST, REPORT, STUDY, manifest
from benchrunner_share.documents.plan import SharedFit
from benchrunner_share.verifying.copies import FitPlace, Trace, traced
from benchrunner_share.verifying.data_checks import OwnRunners, own_runners
from benchrunner_share.verifying.examination import Examination, OpenedScore
from benchrunner_share.verifying.findings import Findings, understood
from benchrunner_share.verifying.made_files import MadeFiles
from benchrunner_share.verifying.received_folder import ReceivedFolder, UnreadableFile


@final
@dataclass(frozen=True)
class Verification:
    """The outcome of a verification."""

    folder: Path
    name: str
    """Name of the study."""
    differences: tuple[str, ...]
    """Everything that is not as the facts say; one sentence each."""
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
    fits: Mapping[str, SharedFit] = field(default_factory=dict)
    """Id of a fit -> the fit and how it was computed, as the folder claims."""
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
            examined = Examination(folder, runners, keep_answers=keep_answers)
            files = MadeFiles(examined)
            _compare_versions(examined, runners.plugins)
            _compare_files(folder, files, examined.findings)
            traces = traced(folder, examined.plan, examined.fits, examined.findings)
            verification = verification_of(folder, examined, files)
            return VerifiedStudy(verification, files.content, tuple(examined.kept), examined.fits, traces)
    except UnreadableFile as fault:
        raise RequestError(f"{path}: {fault}") from None


def verification_of(folder: ReceivedFolder, examined: Examination, files: MadeFiles) -> Verification:
    """Return the outcome of an examination of a folder."""
    return Verification(
        folder.path,
        examined.plan.name,
        tuple(examined.findings.differences),
        tuple(examined.findings.unverified),
        tuple(examined.findings.remarks),
        examined.answers.scores,
        files.figures,
        examined.answers.answers,
        folder.sha256(MANIFEST) if MANIFEST in folder.names else "",
        tuple(examined.sealed),
        tuple(examined.opened),
    )


def _compare_versions(examined: Examination, plugins: Plugins) -> None:
    """Remark on plugins, and on libraries behind the tasks, of other versions than those that made the fits."""
    behind = itertools.chain.from_iterable(map(plugins.suppliers_of, examined.data.tasks.values()))
    own = {plugin.title: plugin.code for plugin in (*behind, plugins.core, *plugins.loaded)}
    for title, version in sorted({pair for shared in examined.fits.values() for pair in shared.fit.suppliers.items()}):
        if title not in own:
            examined.findings.remark(f"{quoted(title)} {quoted(version)} made fits and is not installed here.")
        elif own[title] != version:
            examined.findings.remark(
                f"{quoted(title)} made fits with the version {quoted(version)}; here is {own[title]}."
            )


def _compare_files(folder: ReceivedFolder, files: MadeFiles, findings: Findings) -> None:
    """Compare every byte of a folder with the files that follow from its facts."""
    findings.differ_all(folder.other_entries)
    expected = {MANIFEST, *files.fact_names}
    for name, text in files.texts():
        expected.add(name)
        with findings.faults_differ():
            _compare(folder, name, text, findings)
    if REPORT in folder.names:
        expected.add(REPORT)
        findings.remark(f"{REPORT} was not verified: its figures and pictures are the sender's.")
    for name in sorted(expected - folder.names):
        findings.differ(f"{quoted(name, 120)} is missing.")
    for name in sorted(folder.names - expected):
        findings.differ(f"{quoted(name, 120)} is no file that 'benchrunner share' writes for this study.")
    with findings.faults_differ(), understood(MANIFEST):
        _check_seals(folder, findings)


def _check_seals(folder: ReceivedFolder, findings: Findings) -> None:
    """Compare the list of files with the files."""
    digests = {}
    listed = folder.json_object(MANIFEST)["files"]
    for name in folder.names - {MANIFEST}:
        digests[name] = folder.sha256(name)
        if listed.get(name, digests[name]) != digests[name]:
            findings.differ(f"{quoted(name, 120)} was changed after the folder was written.")
    if not findings.differences:
        _compare(folder, MANIFEST, manifest(digests), findings)


def _compare(folder: ReceivedFolder, name: str, text: str, findings: Findings) -> None:
    """Note the first line in which a file is not as the facts say."""
    if folder.sha256(name) == hashlib.sha256(text.encode()).hexdigest():
        return
    found = folder.content(name).decode(errors="backslashreplace").split("\n")
    for number, (line, own) in enumerate(itertools.zip_longest(found, text.split("\n")), start=1):
        if line != own:
            prefix = os.path.commonprefix([line or "", own or ""])  # noqa: RUF071 - of characters, not of folders
            start = max(0, len(prefix) - 20)
            stands = "nothing" if line is None else quoted(line[start:], 120)
            says = "nothing" if own is None else quoted(own[start:], 120)
            findings.differ(f"{name}, line {number:,}: {stands} stands there, and the facts say {says}.")
            return
    findings.differ(f"{name} is not in UTF-8.")
