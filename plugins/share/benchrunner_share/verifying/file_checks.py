"""Compares the files of a shared folder with its list of files, and the files that follow from the study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchrunner import quoted
from benchrunner_share.documents.contents import MANIFEST, REPORT, STUDY
from benchrunner_share.documents.derived_files import derived_files
from benchrunner_share.verifying.findings import Findings
from benchrunner_share.verifying.rebuilding import understood
from benchrunner_share.verifying.received_folder import ReceivedFolder, UnreadableFile


def check_listed_files(folder: ReceivedFolder, findings: Findings) -> None:
    """Add missing, changed and unlisted files to the findings."""
    findings.differ_all(folder.other_entries)
    try:
        manifest = folder.json_object(MANIFEST)
        with understood(MANIFEST):
            listed: dict[str, str] = {name: str(digest) for name, digest in manifest["files"].items()}
    except UnreadableFile as fault:
        findings.differ(str(fault))
        return
    for name, digest in listed.items():
        if name not in folder.names:
            findings.differ(f"{quoted(name, 120)} is missing.")
        elif folder.sha256(name) != digest:
            findings.differ(f"{quoted(name, 120)} was changed after the folder was written.")
    for name in sorted(folder.names - listed.keys() - {MANIFEST}):
        findings.differ(f"{quoted(name, 120)} is not in the list of files.")


def check_derived_files(folder: ReceivedFolder, content: Mapping[str, Any], findings: Findings) -> None:
    """Write the files that follow from the study again, and compare every byte."""
    for name, text in derived_files(content).items():
        try:
            if folder.content(name) != text.encode("utf-8"):
                findings.differ(f"{quoted(name, 120)} does not follow from {STUDY}.")
        except UnreadableFile as fault:
            findings.differ(str(fault))
    if REPORT in folder.names:
        findings.remark(f"{REPORT} was not verified: its figures and pictures are the sender's.")
