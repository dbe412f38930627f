"""Scores of a prediction file, whoever wrote it, by the task's official scorer or by the task's metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from benchrunner import RequestError, Rows, Score, Task
from benchrunner.results import Runner
from benchrunner_submit.prediction_files import labels_by_text, rows_of, scores_of_file


@final
@dataclass(frozen=True)
class FileScores:
    """Scores of a prediction file."""

    scores: Mapping[str, Score]
    """The task's metrics; or the official scorer's figures, by its own names and on its own scale."""
    rows: Rows | None
    """The labelled rows; None if the file holds the gold answers itself and no others were named."""
    text: str
    """The scores as text, to be printed."""
    notes: tuple[str, ...] = ()
    """What is unusual about the file or the rows, a sentence each."""
    answers: Sequence[str] = ()
    """The answers as texts, if the official scorer read the file."""


def score_file(
    task: Task,
    path: Path,
    runner: Runner,
    *,
    split: str | None = None,
    gold: Path | None = None,
    files: Mapping[str, Path] | None = None,
) -> FileScores:
    """Score a prediction file against labelled rows.

    A file in the layout of the task's official scorer is read by that scorer; `files` are the further files that the
    scorer takes, by their options' names. Any other file has the header `index<TAB>prediction` and a line for each
    answer, or one answer a line. The rows are those of `split` (default: the first dev split), or of the file `gold` in
    the task's own layout.
    """
    files = files or {}
    name = split or next(iter(task.named("dev")), task.train)
    if name not in task.splits:
        raise RequestError(f"{task.name} has no split '{name}'; it has {', '.join(task.splits)}.")
    _check_files(task, files)
    if task.scorer is not None and path.is_file() and task.scorer.recognizes(path):
        named = gold is not None or split is not None
        rows = _rows(task, name, gold, runner) if task.scorer.needs_gold or named else None
        scored = task.scorer.score(path, rows, files)
        notes = (*_notes(rows), *scored.notes)
        return FileScores(scored.figures, rows, scored.text.removesuffix("\n"), notes, scored.answers)
    if files:
        option = next(iter(files))
        raise RequestError(
            f"--{option} is for files in the layout of the official scorer, and {path} is in another. Leave it out."
        )
    rows = _rows(task, name, gold, runner)
    spellings = labels_by_text(task, runner.plugins.leaderboards.values())
    scores = scores_of_file(task, rows, path, spellings=spellings)
    return FileScores(scores, rows, _text(task, path, rows, scores), _notes(rows))


def _check_files(task: Task, files: Mapping[str, Path]) -> None:
    """Raise a `RequestError` for a file that the task's scorer does not take, or that does not exist."""
    for name, path in files.items():
        if task.scorer is None or name not in task.scorer.options:
            raise RequestError(f"--{name} has no meaning for the official scorer of {task.name}: leave it out.")
        if not path.is_file():
            raise RequestError(f"--{name} {path}: there is no such file.")


def _rows(task: Task, split: str, gold: Path | None, runner: Runner) -> Rows:
    return runner.planner.rows(task, split) if gold is None else rows_of(task, split, gold, runner.workspace)


def _notes(rows: Rows | None) -> tuple[str, ...]:
    return () if rows is None else tuple(f"{rows.origin}: {note}" for note in rows.notes)


def _text(task: Task, path: Path, rows: Rows, scores: Mapping[str, Score]) -> str:
    width = max(10, *(len(name) for name in scores))
    scales = {metric.name: metric.scale for metric in task.metrics}
    lines = [f"{path} against {rows.origin} ({len(rows):,} rows)"]
    for name, score in scores.items():
        figure = f"{score.value * scales[name]:.2f}" if score.value is not None else f"absent: {score.reason}"
        lines.append(f"  {name:<{width}} {figure}")
    return "\n".join(lines)
