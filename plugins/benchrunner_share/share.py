"""Writes a study to a folder that anybody verifies: scores, answers, fingerprints of the data, and metadata."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from benchrunner import BenchrunnerError, DataError, RequestError, read_json_object
from benchrunner.engine import decoding, write_folder_atomically
from benchrunner.results import Result, Runner, output_places
from benchrunner_share.documents.contents import (
    MANIFEST,
    REPORT,
    STUDY,
    answers_name,
    figure_json,
    fit_name,
    json_text,
    manifest,
    prediction_name,
)
from benchrunner_share.documents.plan import Plan, RowFacts, answered, plan_of
from benchrunner_share.kept_answers import KeptAnswers
from benchrunner_share.private_texts import Private, shared_names
from benchrunner_share.shared_report import shared_report, shared_result
from benchrunner_share.verifying.data_checks import own_runners
from benchrunner_share.verifying.examination import Examination
from benchrunner_share.verifying.made_files import MadeFiles
from benchrunner_share.verifying.received_folder import ReceivedFolder
from benchrunner_share.verifying.verify import Verification, verification_of

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
    `report` asks for a report of the study, and `with_rows` for rows of the data in it. `force` replaces a shared
    folder at `out` that has other contents, which is refused without.
    """
    _check_place(out)
    limit = study.study.limit_dev
    if limit is not None:
        raise RequestError(
            f"The study scores only {limit:,} rows of each dev split (--limit-dev), which are not the rows of "
            "other people's scores. Repeat it without --limit-dev, which fits nothing again, and share that."
        )
    study = study.read_once(runner)
    private = Private(runner.workspace)
    shared = shared_result(study, private, _names(study, runner, private))
    answers = KeptAnswers(runner, private)
    claims = Plan(
        private.without(name or study.name or "study"),
        answers.newest(study.cells).isoformat(timespec="seconds"),
        runner.plugins.core.version,
        url,
        runner.workspace.settings.leave_out_bad_rows,
    )
    page = shared_report(shared, runner, private, with_rows=with_rows) if report else ""
    written = list[Shared]()

    def write(part: Path) -> None:
        written.append(write_files(part, shared, claims, answers, page))
        if not force:
            _check_is_same(out, written[0].verification.fingerprint)

    write_folder_atomically(out, write)
    return replace(written[0], folder=out, verification=replace(written[0].verification, folder=out))


def write_files(part: Path, shared: Result, claims: Plan, answers: KeptAnswers, page: str) -> Shared:
    """Write all files of a shared folder: the facts, what follows from them, and the report if there is one."""
    digests: dict[str, str] = {}

    def add(name: str, text: str) -> None:
        if not name.endswith(".jsonl") and (private_name := next(answers.private.found_in(text), None)):
            raise BenchrunnerError(f"Nothing was written: {name} would hold '{private_name}', a name of this machine.")
        path = part / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
        digests[name] = hashlib.sha256(text.encode("utf-8")).hexdigest()

    for name, text in _facts(shared, claims, answers):
        add(name, text)
    with own_runners(answers.runner.plugins, answers.runner.workspace) as runners:
        examined = Examination(ReceivedFolder(part), runners)
        _check_follows(shared, examined)
        files = MadeFiles(examined)
        for name, text in files.texts():
            add(name, text)
        if page:
            add(REPORT, page)
        add(MANIFEST, manifest(digests))
        return Shared(part, verification_of(ReceivedFolder(part), examined, files), len(digests))


def _facts(shared: Result, claims: Plan, answers: KeptAnswers) -> Iterator[tuple[str, str]]:
    """Yield the files with the facts of a study. Answers are in memory for one prediction at a time."""
    written = set[str]()  # cells may share fits
    for cell in shared.cells:
        task = cell.cell.task
        for fit in cell.cell.fits:
            shared_fit = answers.shared(fit).named(task.name, cell.cell.backbone)
            yield fit_name(fit.id), json_text(decoding.as_json(shared_fit))
        for fit, split in answered(cell):
            prediction = answers.prediction(cell, fit, split)
            if prediction.id not in written:
                yield prediction_name(prediction.id), json_text({"prediction": decoding.as_json(prediction)})
                yield answers_name(prediction.id), answers.text(cell, fit, split)
            written.add(prediction.id)
    plan = plan_of(
        claims,
        shared.cells,
        answers.runner.plugins,
        lambda task, split: RowFacts.of(answers.runner.planner.rows(task, split), task),
        lambda result, fit, split: result.predicted(fit, split).record.id,
    )
    yield STUDY, json_text(plan.content({}))


def _check_follows(shared: Result, examined: Examination) -> None:
    """Raise a `BenchrunnerError` if the result of a study is not what its facts say."""
    findings = examined.findings
    reasons = [*findings.differences, *findings.unverified]
    if not reasons:
        for cell, own in zip(shared.cells, examined.results.values(), strict=True):
            for term, figure in own.figures.items():
                claimed, computed = figure_json(cell.figures[term]), figure_json(figure)
                if claimed != computed:
                    place = f"{cell.cell.system} on {term.task}, {term.split} {term.metric}"
                    reasons.append(f"{place}: {claimed} in the study, {computed} from its answers.")
    if reasons:
        faults = "\n".join(f"  - {reason}" for reason in reasons[:SHOWN])
        raise BenchrunnerError(
            f"Nothing was written, because the scores of the study do not follow from what is kept:\n{faults}\n"
            "Repeat the command of the study, then share it again."
        )


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
