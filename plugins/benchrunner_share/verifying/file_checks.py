"""Compares the files of a shared folder with its list of files, and with the files that follow from the study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchrunner import quoted
from benchrunner_share.documents.contents import (
    MANIFEST,
    REPORT,
    STUDY,
    answers_name,
    fit_name,
    manifest,
    prediction_name,
)
from benchrunner_share.documents.derived_files import derived_files, sample_names
from benchrunner_share.verifying.comparing import value_differences
from benchrunner_share.verifying.findings import Findings
from benchrunner_share.verifying.rebuilding import checked_id, fit_ids, understood
from benchrunner_share.verifying.received_folder import ReceivedFolder, UnreadableFile


def check_files(folder: ReceivedFolder, content: Mapping[str, Any], findings: Findings) -> None:
    """Add to the findings missing, changed and foreign files, and files that do not follow from the study."""
    findings.differ_all(folder.other_entries)
    with understood(STUDY):
        derived = derived_files(content)
    for name, text in derived.items():
        with findings.faults_differ():
            if folder.content(name) != text.encode("utf-8"):
                findings.differ(f"{quoted(name, 120)} does not follow from {STUDY}.")
    expected = {STUDY, *derived}
    with findings.faults_differ(), understood(STUDY):
        expected.update(_named_files(content))
        expected.update(sample_names(content))
    if REPORT in folder.names:
        expected.add(REPORT)
        findings.remark(f"{REPORT} was not verified: its figures and pictures are the sender's.")
    for name in sorted(folder.names - expected - {MANIFEST}):
        findings.differ(f"{quoted(name, 120)} is no file that 'benchrunner share' writes for this study.")
    _check_list(folder, expected, findings)


def _named_files(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the files of all fits and predictions that a study names."""
    yield from map(fit_name, fit_ids(content))
    for of_fit in content["predictions"].values():
        for of_task in of_fit.values():
            for prediction in of_task.values():
                yield prediction_name(checked_id(prediction))
                yield answers_name(prediction)


def _check_list(folder: ReceivedFolder, expected: set[str], findings: Findings) -> None:
    """Compare the list of files with the files, and with what a study names."""
    for name in sorted(expected - folder.names):
        findings.differ(f"{quoted(name, 120)} is missing.")
    try:
        claimed = folder.json_object(MANIFEST)
        with understood(MANIFEST):
            listed: dict[str, str] = {name: str(digest) for name, digest in claimed["files"].items()}
    except UnreadableFile as fault:
        findings.differ(str(fault))
        return
    said = len(findings.differences)
    for name, digest in listed.items():
        if name not in folder.names:
            findings.differ(f"{quoted(name, 120)} is missing.")
        elif folder.sha256(name) != digest:
            findings.differ(f"{quoted(name, 120)} was changed after the folder was written.")
    for name in sorted(folder.names - listed.keys() - {MANIFEST}):
        findings.differ(f"{quoted(name, 120)} is not in the list of files.")
    if len(findings.differences) == said:
        findings.differ_all(value_differences(claimed, manifest(listed), (MANIFEST,)))
