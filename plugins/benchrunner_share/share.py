"""Writes a study to a folder that anybody verifies: scores, answers, fingerprints of the data, and metadata."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from benchrunner import BenchrunnerError, DataError, RequestError, read_json_object
from benchrunner.engine import write_folder_atomically
from benchrunner.results import Result, Runner, output_places
from benchrunner_share.documents.claims import Claims
from benchrunner_share.documents.contents import MANIFEST, REPORT, STUDY, manifest
from benchrunner_share.documents.derived_files import derived_files
from benchrunner_share.documents.study_documents import StudyDocuments, json_text
from benchrunner_share.kept_answers import KeptAnswers
from benchrunner_share.private_texts import Private, shared_names
from benchrunner_share.shared_report import shared_report, shared_result
from benchrunner_share.verifying.verify import Verification, verify_folder

SHOWN = 10
"""Number of differences that an error shows."""


@final
@dataclass(frozen=True)
class Shared:
    """A folder that was written."""

    folder: Path
    verification: Verification
    """The verification of the folder with the data of the machine that wrote it."""
    files: int
    """Number of files."""

    def as_json(self) -> dict[str, Any]:
        """Return what was written as JSON values."""
        facts = {"folder": self.folder, "files": self.files, "fingerprint": self.verification.fingerprint}
        return facts | {name: getattr(self.verification, name) for name in ("name", "scores", "figures", "answers")}


def share_study(
    study: Result,
    out: Path,
    runner: Runner,
    *,
    name: str = "",
    url: str | None = None,
    report: bool = True,
    with_rows: bool = False,
    force: bool = False,
) -> Shared:
    """Write a finished study to the folder `out`, and verify the folder. The same study gives the same bytes.

    Nothing is trained: the kept answers of all fits are written, with the fingerprints of their data. Texts of the data
    are not, unless an answer is text. Folders, user names and the name of this machine are left out. `name` is the
    study's name, by default that under which it is kept. `url` is where the folder will be published, for the metadata.
    `report` asks for a report of the study, `with_rows` for rows of the data in the report and in the samples of Every
    Eval Ever. `force` replaces a shared
    folder at `out` that has other contents, which is refused without.
    """
    _check_place(out)
    limit = study.study.limit_dev
    if limit is not None:
        raise RequestError(
            f"The study scores only {limit:,} rows of each dev split (--limit-dev), which are not the rows of "
            "other people's scores. Repeat it without --limit-dev, which fits nothing again, and share that."
        )
    private = Private(runner.workspace)
    shared = shared_result(study, private, _names(study, runner, private))
    answers = KeptAnswers(runner, private)
    claims = Claims(
        private.without(name or study.name or "study"),
        answers.newest(study.cells).isoformat(timespec="seconds"),
        runner.plugins.core.version,
        url,
        runner.workspace.settings.leave_out_bad_rows,
    )
    page = shared_report(shared, runner, private, with_rows=with_rows) if report else ""
    documents = StudyDocuments(claims, answers, runner.plugins)
    written: dict[str, str] = {}  # cells may share fits
    verifications: list[Verification] = []

    def write(part: Path) -> None:
        for file, text in _texts(shared, documents, page, with_rows=with_rows):
            if not file.endswith(".jsonl") and (private_name := next(private.found_in(text), None)):
                raise BenchrunnerError(
                    f"Nothing was written: {file} would hold '{private_name}', a name of this machine."
                )
            path = part / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8"))
            written[file] = hashlib.sha256(text.encode("utf-8")).hexdigest()
        (part / MANIFEST).write_bytes(json_text(manifest(written)).encode("utf-8"))
        verifications.append(_verified(part, out, runner))
        if not force:
            _check_is_same(out, verifications[0].fingerprint)

    write_folder_atomically(out, write)
    return Shared(out, verifications[0], len(written) + 1)


def _texts(shared: Result, documents: StudyDocuments, page: str, *, with_rows: bool) -> Iterator[tuple[str, str]]:
    """Yield all files but the list of files. Answers are in memory for one prediction or log at a time."""
    for cell in shared.cells:
        yield from documents.of_cell(cell)
    try:
        content = documents.content(shared)
    except ValueError as error:
        raise RequestError(f"Nothing was written: {error}. Give the systems and the study other names.") from None
    for samples in documents.samples(shared, content) if with_rows else ():
        content["samples"].setdefault(samples.backbone, {})[samples.collection] = samples.facts
        yield samples.name, samples.text
    yield STUDY, json_text(content)
    yield from derived_files(content).items()
    if page:
        yield REPORT, page


def _names(result: Result, runner: Runner, private: Private) -> dict[str, str]:
    """Map the systems and the backbones of a study to shared names."""
    backbones = dict.fromkeys(result.study.backbones)
    backbones |= dict.fromkeys(cell.cell.backbone for cell in result.cells)
    namespaces = {name.partition("/")[0] for name in runner.plugins.backbones}
    names = shared_names(backbones, namespaces=namespaces)
    for system in result.study.systems:
        suffix = f" ({system.method})"  # a system of `compare --method A,B` is named by both
        for name in (system.name, system.series):
            if name == system.backbone + suffix:
                names[name] = names[system.backbone] + suffix
        if system.series and system.name.startswith(system.series):  # a point of a learning curve
            series = names.setdefault(system.series, private.without(system.series))
            names[system.name] = series + system.name.removeprefix(system.series)
        for name in (system.name, system.arm, system.series):
            names.setdefault(name, private.without(name))
    return names


def _verified(part: Path, out: Path, runner: Runner) -> Verification:
    """Verify the written folder; raise a `BenchrunnerError` if anything differs or is not verified."""
    verification = verify_folder(part, runner.plugins, runner.workspace)
    if not verification.is_equal:
        reasons = (*verification.differences, *verification.unverified)
        faults = "\n".join(f"  - {reason}" for reason in reasons[:SHOWN])
        raise BenchrunnerError(
            f"Nothing was written, because the scores of the study do not follow from what is kept:\n{faults}\n"
            "Repeat the command of the study, then share it again."
        )
    return dataclasses.replace(verification, folder=out)


def _check_is_same(out: Path, fingerprint: str) -> None:
    """Raise a `RequestError` if there is a shared folder already, with another fingerprint."""
    if not (out / MANIFEST).is_file():
        return
    older = hashlib.sha256((out / MANIFEST).read_bytes()).hexdigest()
    if older != fingerprint:
        raise RequestError(
            f"--out {out}: this shared folder has other contents, with the fingerprint {older}. Name a new folder, or "
            "replace it with --force: whoever has the older fingerprint then finds other files."
        )


def _check_place(out: Path) -> None:
    """Raise a `RequestError` if the folder is there and is not an older shared folder with nothing added."""
    output_places.check_place(out, is_file=False)
    if not out.exists():
        return
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if not path.is_dir()}
    try:
        listed = set(read_json_object(out / MANIFEST)["files"]) if files else files
    except (DataError, KeyError, TypeError):
        listed = set()
    if further := sorted(files - listed - {MANIFEST} if listed else files):
        raise RequestError(f"--out {out}: the folder has other files, such as {further[0]}. Name a new folder.")
