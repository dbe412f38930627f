"""The audit of prediction files: their flags, their faults, and their scores where the gold labels are there."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, final

from benchrunner import DataError, RequestError, Rows, Score, Scorer, Task
from benchrunner.results import comparison, predicting
from benchrunner_audit.prediction_files import parse_answer, read_lines
from benchrunner_audit.question import Question

UNUSED = "label never used"
OUTSIDE = "answers out of the label set"
SAME = "same answers"
"""Flags of audits, beside those of `benchrunner.results.predicting`."""
Seen = dict[bytes, Path]
"""Hash of the answers of a file -> the first file that has them."""
NAMES = ("*.tsv", "*.txt")
"""Names of the files that are read from folders."""


@final
@dataclass(frozen=True)
class Flag:
    """Something about a file that its reader should know. A file with a flag may still be what its author meant."""

    name: str
    detail: str = ""
    """The labels, the number of rows or the other file that the flag is about."""

    @property
    def text(self) -> str:
        """The code, the name and the detail."""
        name = f"{comparison.code_of(self.name)} {self.name}"
        return f"{name} ({self.detail})" if self.detail else name


@final
@dataclass(frozen=True)
class AuditedFile:
    """What an audit found about one file."""

    path: Path
    rows: int | None = None
    """The number of answers; None if they could not be read, or only the official scorer reads them."""
    flags: tuple[Flag, ...] = ()
    scores: Mapping[str, Score] = field(default_factory=dict)
    """The task's metrics; or the official scorer's figures, by its own names and on its own scale; else empty."""
    text: str = ""
    """The scores as text, to be printed; empty without scores."""
    notes: tuple[str, ...] = ()
    """What is unusual about the file, a sentence each."""
    fault: str = ""
    """Why the file is invalid, in a sentence or two; empty for a valid file."""

    def as_json(self) -> dict[str, Any]:
        """Return what was found as JSON values."""
        flags = [{"code": comparison.code_of(flag.name), **vars(flag)} for flag in self.flags]
        facts = {"path": self.path, "rows": self.rows, "flags": flags}
        return {**facts, "scores": self.scores, "fault": self.fault}


@final
@dataclass(frozen=True)
class Audit:
    """What an audit found about all files."""

    files: tuple[AuditedFile, ...]
    notes: tuple[str, ...]
    """What could not be told and why."""

    @property
    def counts(self) -> dict[str, int]:
        """How many files have each flag, for the flags that occur."""
        counts = Counter[str]()
        for file in self.files:
            counts.update(flag.name for flag in file.flags)
        return counts


def audit_files(paths: Sequence[Path], question: Question, *, names: Sequence[str] = NAMES) -> Audit:
    """Audit files, and the files below folders whose names fit one of the patterns `names`."""
    seen: Seen = {}
    files = [_audited(path, question, seen) for path in files_below(paths, names)]
    return Audit(tuple(files), question.notes)


def files_below(paths: Iterable[Path], names: Sequence[str]) -> list[Path]:
    """List the given files, and those below given folders whose names fit a pattern; each file once."""
    found = dict[Path, Path]()
    for path in paths:
        try:
            path.stat()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise RequestError(f"{path}: cannot be read: {reason}.") from None
        inside = _fitting(path, names) if path.is_dir() else [path]
        if not inside:
            raise RequestError(f"{path}: no file below this folder is named {' or '.join(names)}. Give --name PATTERN.")
        for file in inside:
            found.setdefault(file.resolve(), file)
    return list(found.values())


def _fitting(folder: Path, names: Sequence[str]) -> list[Path]:
    files = []
    for path in sorted(folder.rglob("*")):
        fits = any(fnmatchcase(path.name, pattern) for pattern in names)
        if fits and path.is_file():
            files.append(path)
    return files


def _flag_of_same(seen: Seen, answers: Sequence[Any], path: Path) -> tuple[Flag, ...]:
    """Flag a file with the answers of an earlier one, however they are written."""
    key = hashlib.sha256(repr(answers).encode("utf-8", "backslashreplace")).digest()
    first = seen.setdefault(key, path)
    return () if first == path else (Flag(SAME, str(first)),)


def _audited(path: Path, question: Question, seen: Seen) -> AuditedFile:
    """Audit one file; a file that cannot be read has a fault."""
    scorer = None if question.task is None else question.task.scorer
    try:
        if scorer is not None and scorer.recognizes(path):
            return _officially_scored(scorer, path, question, seen)
        for option in question.files:
            raise RequestError(
                f"--{option} is for files in the layout of the official scorer, and {path} is in another. Leave it out."
            )
        return _audited_answers(path, question, seen)
    except DataError as fault:
        return AuditedFile(path, fault=str(fault))
    except OSError as error:
        return AuditedFile(path, fault=f"{path}: cannot be read: {error.strerror}.")


def _officially_scored(scorer: Scorer, path: Path, question: Question, seen: Seen) -> AuditedFile:
    """Audit a file in the layout of the task's official scorer, which reads it."""
    if question.rows is None and scorer.needs_gold:
        return AuditedFile(path, flags=_flag_of_same(seen, [path.read_bytes()], path))
    rows = question.rows if scorer.needs_gold or question.is_named else None
    scored = scorer.score(path, rows, question.files)
    flags = tuple(map(Flag, predicting.flags_of(scored.answers, None, {}, dict)))
    flags = flags or _flag_of_same(seen, scored.answers, path)
    return AuditedFile(path, None, flags, scored.figures, scored.text.removesuffix("\n"), tuple(scored.notes))


def _audited_answers(path: Path, question: Question, seen: Seen) -> AuditedFile:
    """Audit a file that holds an answer for each row."""
    task, rows = question.task, question.rows
    lines = read_lines(path, None if rows is None else len(rows))
    texts = [text for _, text in lines]
    answers = list[Any]()
    faults = list[str]()
    for line, text in lines:
        try:
            answers.append(_answer(path, line, text, question))
        except DataError as fault:
            faults.append(str(fault))
    if faults:
        names = predicting.flags_of(texts, None, {}, dict)
        flags = [Flag(name) for name in names]
        flags += [Flag(OUTSIDE, f"{len(faults):,} of {len(texts):,} rows")] if question.labels else []
        return AuditedFile(path, len(texts), tuple(flags), fault=faults[0])
    scores: Mapping[str, Score] = {}
    text = ""
    if task is not None and rows is not None:
        try:
            scores = task.scores(rows.table, answers)
        except DataError as error:  # an answer does not fit its row, for example too few tags for the words
            raise DataError(f"{path}: {error}") from None
        text = _text(task, path, rows, scores) if scores else ""
    headline = None if task is None else task.metrics[0]
    known = question.comparable(scores)
    names = predicting.flags_of(answers, question.problem, known, lambda: question.majority, headline)
    flags = [Flag(name) for name in names]
    if predicting.CONSTANT not in names:  # such files lack labels, and are equal, without being copied
        flags += _unused(answers, question.labels)
        flags += _flag_of_same(seen, answers, path)
    return AuditedFile(path, len(texts), tuple(flags), scores, text)


def _text(task: Task, path: Path, rows: Rows, scores: Mapping[str, Score]) -> str:
    """Write the scores of a file, a metric in a line."""
    width = max(10, *(len(name) for name in scores))
    lines = [f"{path} against {rows.origin} ({len(rows):,} rows)"]
    for name, score in scores.items():
        figure = f"absent: {score.reason}" if score.value is None else f"{score.value * task.metric(name).scale:.2f}"
        lines.append(f"  {name:<{width}} {figure}")
    return "\n".join(lines)


def _answer(path: Path, line: int, text: str, question: Question) -> Any:
    if question.problem is None:
        return text
    return parse_answer(path, line, text, question.problem, question.spellings)


def _unused(answers: Sequence[Any], labels: Sequence[str]) -> list[Flag]:
    """Flag labels that no row has, where an answer is a single label."""
    if not labels or not all(isinstance(answer, str) for answer in answers):
        return []
    given = set(answers)
    unused = [label for label in labels if label not in given]
    return [Flag(UNUSED, ", ".join(unused))] if unused else []
