"""Write a submission from a study's fits or from finished runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from benchrunner import RequestError, Task
from benchrunner.results import (
    Executor,
    Fit,
    Result,
    Runner,
    StudyOptions,
    comparison,
    predict,
    run_study,
    watched,
)
from benchrunner_submit.board_file import Pair
from benchrunner_submit.file_kinds.file_kind import Answers
from benchrunner_submit.leaderboard import Leaderboard
from benchrunner_submit.submission_files.checking import findings
from benchrunner_submit.submission_files.manifests import Manifest, read_manifest
from benchrunner_submit.submission_files.writing import submission_path, write_answers
from benchrunner_submit.submissions import gaps
from benchrunner_submit.submissions.submission_answers import (
    answers,
    ensembles_of,
    scores_of_result,
    scores_of_runs,
    selected,
    together,
)

_WITHOUT_FITTING = ("precision", "keep")
"""Options that may be given for finished runs, which are not fitted again."""


@final
@dataclass(frozen=True)
class Submission:
    """A submission that `write_submission` wrote."""

    board: Leaderboard
    path: Path
    """The archive or folder; `manifest_path(path)` is its manifest."""
    manifest: Manifest
    """Where each file came from."""
    faults: tuple[str, ...]
    """Every fault; empty if the leaderboard would accept the submission."""
    remarks: tuple[str, ...]
    """What makes a submission doubtful beside its faults."""
    result: Result | None = None
    """The study whose selected fits answer; None if finished runs or the majority answer."""

    def as_json(self, published: comparison.PublishedChoice = comparison.NOTHING_PUBLISHED) -> dict[str, Any]:
        """Return the submission, and the result of its study beside published figures, as JSON values."""
        return {
            "board": self.board.name,
            "url": self.board.url,
            "path": self.path,
            "manifest": self.manifest.content(),
            "faults": self.faults,
            "remarks": self.remarks,
            "result": None if self.result is None else comparison.as_json(self.result, published),
        }


def write_submission(
    board: Leaderboard,
    path: Path,
    runner: Runner,
    *,
    backbone: str | None = None,
    ensemble: Sequence[str] = (),
    tasks: Iterable[Task] | None = None,
    fill: bool = False,
    partial: bool = False,
    options: StudyOptions | None = None,
    executor: Executor | None = None,
    show_progress: bool = False,
    on_result: Callable[[Result], object] = lambda result: None,
) -> Submission:
    """Fit what is not fitted, answer every test split, and write the archive or folder with its manifest.

    Give either `backbone`, which is fitted to the board's tasks, or `ensemble`: finished runs, of which those of one
    task answer together. Answers to tasks that are not among `tasks` (default: all) or that have no data are missing:
    with `fill` the majority answers, and with `partial` their files are left out; the manifest says so. Without both,
    and where no file would hold answers of a model, a `RequestError` lists them before anything is fitted.
    Without `official_counts` in the workspace's settings, files have as many rows as their splits, as demo data needs.
    `path` is the archive, or a folder that gets an archive with the board's usual name. `on_result` is called with the
    study's result before the test splits are answered.
    """
    options = options or StudyOptions()
    _check_source(backbone, ensemble, options, executor)
    board.check_takes_files()
    submission_path(board, path)  # a place that cannot be written to is an error before the data are read
    asked = None if tasks is None else [task.name for task in tasks]
    ensembles = ensembles_of(board, ensemble, runner)
    missing = _gaps_of(board, asked, ensembles, runner)
    settled = gaps.settle(board, missing, runner, fill=fill, partial=partial)
    part = settled.board
    path = submission_path(part, path)
    result: Result | None = None
    source = together(ensembles, runner)
    scores = scores_of_runs(ensembles, runner)
    if backbone is not None:
        study = options.study((backbone,), settled.tasks, runner)
        result = run_study(study, runner, executor=executor, show_progress=show_progress)
        on_result(result)
        runner = study.reading(runner)  # thresholds are those of the dev rows that the study scores
        _predict(part, settled.filled, result, runner, show=show_progress)
        source = selected(part, result.cells, runner)
        scores = scores_of_result(result)
    given = answers(part, source, settled.filled, runner)
    values = {pair: _with_dev(value, scores.get(pair[0], {}), options) for pair, value in given.items()}
    tables = {pair: value.table for pair, value in values.items() if value.table is not None}
    is_official = runner.workspace.settings.official_counts
    counts = {} if is_official else {file.name: len(values[file.pair].values) for file in part.files}
    path = write_answers(part, values, path, counts=counts, missing=settled.left_out)
    manifest = read_manifest(path)
    found = findings(part, path, manifest=None if is_official else manifest, tables=tables)
    return Submission(board, path, manifest, tuple(found.faults), tuple(found.remarks), result)


def _with_dev(value: Answers, dev: Mapping[str, float], options: StudyOptions) -> Answers:
    """Return answers with the scores on dev of what gave them, and how dev was limited; filled-in answers have none."""
    if value.filled:
        return value
    limit_dev = options.limit_dev if value.fit else None
    return replace(value, dev=dev, limit_dev=limit_dev)


def _check_source(
    backbone: str | None, ensemble: Sequence[str], options: StudyOptions, executor: Executor | None
) -> None:
    """Raise a `RequestError` unless a backbone or runs are given; runs take no options that say how to fit."""
    if (backbone is None) == (not ensemble):
        raise RequestError("A submission needs either a backbone or the runs of an ensemble.")
    names = [name for name in (*options.recipe, *options.changes()) if name not in _WITHOUT_FITTING]
    if executor:
        names.append("executor (or jobs)")
    if ensemble and names:
        raise RequestError(f"Finished runs are not fitted again: the option {names[0]} has no effect; leave it out.")
    if options.limits:
        raise RequestError("A submission is of one number of training rows: give --limit-train one, or leave it out.")
    if len(options.method or ()) > 1:
        raise RequestError(
            f"A submission is of one method, not of {', '.join(options.method or ())}. 'compare' compares methods; "
            "'submit --study NAME --of ROW' then submits a row of its table."
        )


def _gaps_of(
    board: Leaderboard, asked: Collection[str] | None, ensembles: Mapping[str, Sequence[str]], runner: Runner
) -> dict[Pair, str]:
    """Map what cannot be answered to the reason; `asked` are the tasks that the user names, None for all."""
    board_tasks = gaps.task_names(board)
    chosen = list(ensembles) or board_tasks
    unchosen = gaps.NO_RUN
    if asked is not None:
        if not set(asked) & set(board_tasks):
            listed = ", ".join(board_tasks)
            raise RequestError(f"{board.name} takes no answers to {', '.join(asked)}, but to {listed}.")
        chosen = [name for name in chosen if name in asked]
        unchosen = f"{gaps.NO_RUN}, or it is not among --tasks" if ensembles else gaps.NOT_ASKED
    return gaps.find_gaps(board, chosen, runner, unchosen=unchosen)


def _predict(board: Leaderboard, filled: Collection[Pair], result: Result, runner: Runner, *, show: bool) -> None:
    """Answer the test splits with progress. Runs keep their answers, so that they are only read afterwards."""
    splits: list[tuple[Fit, list[str]]] = []
    work: list[tuple[Fit, float]] = []
    for cell in result.cells:
        fit, task = cell.selected, cell.cell.task
        if fit is not None:
            wanted = [split for name, split in board.wanted if name == task.name and (name, split) not in filled]
            splits.append((fit, wanted))
            if show:
                rows = sum(len(runner.planner.rows(task, split)) for split in wanted)
                work.append((fit, rows or 1.0))
    with watched(runner.observers, work, counts="predicting", show=show) as watch:
        for fit, wanted in splits:
            for split in wanted:
                predict(fit, split, runner)
            watch.finished(fit)
