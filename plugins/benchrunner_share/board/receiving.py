"""Receives the shared folders of a board: each is verified, and what is no fair entry is refused with the reason."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from benchrunner import BenchrunnerError, RequestError, quoted
from benchrunner.engine import first_line
from benchrunner.results import predicting
from benchrunner_share.private_texts import Private
from benchrunner_share.verifying.copies import Trace
from benchrunner_share.verifying.data_checks import OwnRunners
from benchrunner_share.verifying.verify import VerifiedStudy, verified_study

MOST_FOLDERS = 2_000
"""Largest number of shared folders of a board."""
MOST_SYSTEMS = 20
"""Largest number of systems of one folder: each system makes the tests of all others stricter."""
LONGEST_NAME = 120
"""Most characters of the name of a study, a system or a backbone."""


@final
@dataclass(frozen=True)
class Refused:
    """A folder that is not on the board."""

    name: str
    """Name of the folder, made safe to show."""
    reason: str
    """The first reason in one sentence, and how many others there are."""


@final
@dataclass(frozen=True)
class Accepted:
    """A verified folder."""

    name: str
    study: VerifiedStudy

    @property
    def date(self) -> str:
        """When its newest answers were given, as it claims."""
        return str(self.study.content["answered"])


def received(results: Path, runners: OwnRunners, private: Private) -> Iterator[Accepted | Refused]:
    """Yield each folder in `results`, in the order of the names, after its verification. Files are passed over.

    `private` leaves folders of this machine out of the reasons, which the site shows.
    """
    with os.scandir(results) as listed:
        entries = sorted(listed, key=lambda entry: entry.name)
    folders = [entry for entry in entries if not entry.name.startswith(".") and (entry.is_dir() or entry.is_symlink())]
    if len(folders) > MOST_FOLDERS:
        raise RequestError(f"{results} holds {len(folders):,} folders; a board has at most {MOST_FOLDERS:,}.")
    traces = dict[Trace, str]()
    for entry in folders:
        name = quoted(entry.name, LONGEST_NAME).strip("'")
        try:
            study = _verified(entry, runners, private)
            known = [traces.setdefault(trace, name) for trace in study.traces]
            yield Accepted(name, _with_remark(study, [first for first in known if first != name]))
        except BenchrunnerError as error:
            reason = str(error).replace(f"{entry.path}: ", "").replace(entry.path, "it")
            yield Refused(name, private.without(first_line(RequestError(reason))))
        except Exception as error:  # no folder may stop the board, whatever a plugin raises on its content
            yield Refused(name, f"it cannot be verified: {quoted(f'{type(error).__name__}: {error}', 200)}.")


def _with_remark(study: VerifiedStudy, copied: Sequence[str]) -> VerifiedStudy:
    """Return a study with a remark on the folders before it that have fits of equal answers and seconds."""
    if not copied:
        return study
    remark = f"Fits have the answers and seconds of fits of {', '.join(dict.fromkeys(copied))}: they may be copies."
    verification = replace(study.verification, remarks=(*study.verification.remarks, remark))
    return replace(study, verification=verification)


def _verified(entry: os.DirEntry[str], runners: OwnRunners, private: Private) -> VerifiedStudy:
    """Verify a folder; raise a `RequestError` with the reason why it is refused."""
    if entry.is_symlink():
        raise RequestError("it is a symbolic link, which is not followed.")
    study = verified_study(Path(entry.path), runners, keep_answers=True)
    verification = study.verification
    suppliers = study.content["suppliers"]
    names = {*suppliers, *suppliers.values()}
    faults = [*verification.differences, *(private.remark(text, names) for text in verification.unverified)]
    if faults:
        more = f" ({len(faults) - 1:,} further reasons: see 'benchrunner check')" if len(faults) > 1 else ""
        raise RequestError(f"{faults[0]}{more}")
    _check_is_fair(study, runners)
    return study


def _check_is_fair(study: VerifiedStudy, runners: OwnRunners) -> None:
    """Raise a `RequestError` if the scores of a verified study cannot stand beside those of others."""
    systems = {cell.cell.system for cell in study.cells}
    names = {study.verification.name, *systems, *(cell.cell.backbone for cell in study.cells)}
    longest = max(names, key=len)
    if len(longest) > LONGEST_NAME:
        raise RequestError(f"the name {quoted(longest, 40)} has {len(longest):,} characters; give a shorter one.")
    taken = {"", predicting.MAJORITY, *runners.plugins.tasks}
    backbones = dict[str, str]()
    for cell in study.cells:
        suite = cell.cell.task.suite
        taken |= {average.name for average in suite.averages} if suite is not None else set()
        backbone = backbones.setdefault(cell.cell.system, cell.cell.backbone)
        if backbone != cell.cell.backbone:
            raise RequestError(
                f"its system {quoted(cell.cell.system)} is two backbones, {quoted(backbone)} and "
                f"{quoted(cell.cell.backbone)}: share each as a system of its own."
            )
    for name in systems:
        if name.strip() in taken:
            raise RequestError(f"no system can be called {quoted(name)}, which tables use for something else.")
    if len(systems) > MOST_SYSTEMS:
        raise RequestError(f"it has {len(systems):,} systems; a folder of a board has at most {MOST_SYSTEMS}.")
    for cell in study.cells:
        fitting = cell.cell.fitting
        if cell.cell.method not in runners.plugins.methods:
            raise RequestError(f"its method {quoted(cell.cell.method)} is not installed here.")
        if fitting.looks:
            raise RequestError("its restarts were added until a difference was clear: share a study without looks.")
