"""Write a submission from a study's fits or from finished runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from benchrunner.errors import RequestError
from benchrunner.fits.executor import Executor
from benchrunner.fits.fit import Fit
from benchrunner.fits.progress import watched
from benchrunner.io.output_places import file_for
from benchrunner.leaderboards.checking import find_faults
from benchrunner.leaderboards.leaderboard import Leaderboard
from benchrunner.leaderboards.manifests import Manifest
from benchrunner.leaderboards.published_choice import PublishedChoice, choose_published
from benchrunner.leaderboards.writing import submission_path, turn_at, write_with_manifest
from benchrunner.metrics import Score
from benchrunner.runs.folder import find_run
from benchrunner.runs.predicting import predict
from benchrunner.runs.runner import Runner
from benchrunner.studies.comparison.json_values import as_json as result_json
from benchrunner.studies.result import Result
from benchrunner.studies.study_options import StudyOptions
from benchrunner.studies.study_run import run_study
from benchrunner.studies.submissions import submission_figures
from benchrunner.studies.submissions.submission_answers import (
    answers,
    check_counts,
    ensembles_of,
    missing,
    selected,
    together,
)
from benchrunner.studies.submissions.submission_figures import DevFigure, dev_figures, scores_of_result, scores_of_runs
from benchrunner.tasks.task import Task, Term
from benchrunner.workspace import Workspace


@final
@dataclass(frozen=True)
class Submission:
    """A submission that `write_submission` wrote."""

    board: Leaderboard
    path: Path
    """The archive or folder; `manifest_path(path)` is its manifest. Beside a device or a FIFO there is no manifest."""
    manifest: Manifest
    """Where each file came from."""
    faults: tuple[str, ...]
    """Result of `find_faults`: empty if the leaderboard would accept the submission."""
    result: Result | None = None
    """The study whose selected fits answer; None if finished runs or the majority answer."""
    figures: tuple[DevFigure, ...] = ()
    """Figures on dev of the fits or runs that answer, each with the published figures that measure the same."""

    def as_json(self) -> dict[str, Any]:
        """Return the submission, and the result of its study, as JSON values."""
        return {
            "board": self.board.name,
            "url": self.board.url,
            "path": self.path,
            "manifest": self.manifest.content(),
            "faults": self.faults,
            "result": None if self.result is None else result_json(self.result),
            **submission_figures.as_json(self.figures),
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
    options: StudyOptions | None = None,
    executor: Executor | None = None,
    show_progress: bool = False,
    on_result: Callable[[Result], object] = lambda result: None,
    published: PublishedChoice | None = None,
) -> Submission:
    """Fit what is not fitted, answer every test split, and write the archive or folder with its manifest.

    Give either `backbone`, which is fitted to the board's tasks, or `ensemble`: finished runs, of which those of one
    task answer together. Tasks that are not among `tasks` (default: all) or that have no data are missing: with `fill`
    the majority answers them and the manifest says so, else a `RequestError` lists them before anything is fitted.
    Without `official_counts` in the workspace's settings, files have as many rows as their splits, as demo data needs.
    `path` is the archive, or a folder that gets an archive with the board's usual name. `on_result` is called with the
    study's result before the test splits are answered. `published` are the published figures that stand beside the
    figures on dev; None means those that the leaderboards show by default.
    """
    options = options or StudyOptions()
    _check_source(backbone, ensemble, options, executor)
    board.check_takes_files()
    path = submission_path(board, path)
    tasks = None if tasks is None else list(tasks)
    fits = [find_run(runner.workspace.runs, run).fit() for run in ensemble]
    board = board.with_tasks([*(task.name for task in tasks or ()), *(fit.task for fit in fits)])
    ensembles = ensembles_of(board, ensemble, runner) if ensemble else {}
    absent = _missing(board, None if tasks is None else [task.name for task in tasks], ensembles, runner)
    if absent and not fill:
        raise _incomplete(board, absent, runner.workspace)
    answered = [runner.plugins.tasks.find(name) for name in _task_names(board) if name not in absent]
    has_official_rows = runner.workspace.settings.official_counts
    if has_official_rows:
        check_counts(board, answered, runner)
    result: Result | None = None
    if backbone is not None and answered:
        study = options.study((backbone,), answered, runner)
        result = run_study(study, runner, executor=executor, show_progress=show_progress)
        on_result(result)
        runner = result.cells[0].runner or runner  # thresholds are those of the dev rows that the study scores
        _predict(board, result, runner, show=show_progress)
    source = together(ensembles, runner) if ensembles else selected(board, result.cells if result else (), runner)
    values = answers(board, source, absent, runner)
    scores = scores_of_result(result) if result is not None else scores_of_runs(ensembles, runner)
    values = {
        pair: replace(
            value,
            dev=dev_scores(pair[0], scores),
            limit_dev=options.limit_dev if value.fit and not value.filled else None,
        )
        for pair, value in values.items()
    }
    tables = {pair: value.table for pair, value in values.items() if value.table is not None}
    with file_for(path) as file, turn_at(file):
        counts = {} if has_official_rows else {item.name: len(values[item.pair].values) for item in board.files}
        manifest = write_with_manifest(board, values, file, counts=counts)
        faults = tuple(find_faults(board, file, manifest=None if has_official_rows else manifest, tables=tables))
    figures = dev_figures(answered, scores, published or choose_published(runner.plugins.leaderboards.values()))
    return Submission(board, path, manifest, faults, result, figures)


def dev_scores(task: str, scores: Mapping[Term, Score]) -> dict[str, float]:
    """Return the scores of a task on dev by split and metric, as the manifest has them."""
    return {
        f"{term.split} {term.metric}": score.value
        for term, score in scores.items()
        if term.task == task and score.value is not None
    }


def _check_source(
    backbone: str | None, ensemble: Sequence[str], options: StudyOptions, executor: Executor | None
) -> None:
    """Raise a `RequestError` unless a backbone or runs are given; runs take no options that say how to fit."""
    if (backbone is None) == (not ensemble):
        raise RequestError("A submission needs either a backbone or the runs of an ensemble.")
    names = [name for name in (*options.recipe, *options.changes()) if name not in ("precision", "keep")]
    if executor:
        names.append("executor (or jobs)")
    if ensemble and names:
        raise RequestError(f"Finished runs are not fitted again: the option {names[0]} has no effect; leave it out.")
    if len(options.method or ()) > 1:
        raise RequestError(
            f"A submission is of one method, not of {', '.join(options.method or ())}. 'compare' compares methods; "
            "'submit --study NAME --of ROW' then submits a row of its table."
        )


def _incomplete(board: Leaderboard, absent: Mapping[str, str], workspace: Workspace) -> RequestError:
    lines = "\n".join(f"  - {name}: {reason.splitlines()[0]}" for name, reason in absent.items())
    reason = "it is not asked with --offline" if workspace.settings.offline else workspace.hub.known_failure
    hub = f"The hub gave no data: {reason}.\n" if reason else ""
    return RequestError(
        f"A submission to {board.name} needs every task, and these are missing:\n{lines}\n"
        f"{hub}Nothing was fitted. Give their data, or '--fill majority' to answer them by the majority."
    )


def _task_names(board: Leaderboard) -> list[str]:
    return list(dict.fromkeys(task for task, _ in board.wanted))


def _missing(
    board: Leaderboard, asked: Collection[str] | None, ensembles: Mapping[str, Sequence[str]], runner: Runner
) -> dict[str, str]:
    """Map the board's tasks that cannot be answered to the reason; `asked` are the tasks that the user names."""
    board_tasks = _task_names(board)
    chosen, unchosen = list(ensembles) or board_tasks, "not among --ensemble"
    if asked is not None:
        if not set(asked) & set(board_tasks):
            listed = ", ".join(board_tasks)
            raise RequestError(f"{board.name} takes no answers to {', '.join(asked)}, but to {listed}.")
        chosen = [name for name in chosen if name in asked]
        unchosen = f"{unchosen} and --tasks" if ensembles else "not among --tasks"
    tasks = [runner.plugins.tasks.find(name) for name in board_tasks]
    return missing(board, tasks, chosen, runner, unchosen=unchosen)


def _predict(board: Leaderboard, result: Result, runner: Runner, *, show: bool) -> None:
    """Answer the test splits with progress. Runs keep their answers, so that they are only read afterwards."""
    fits = [cell.selected for cell in result.cells if cell.selected is not None]
    splits: dict[str, list[str]] = {}
    for fit in fits:
        splits[fit.id] = [split for task, split in board.wanted if task == fit.task]

    def work(fit: Fit) -> float:
        return (
            sum(len(runner.planner.rows(runner.plugins.tasks.find(fit.task), split)) for split in splits[fit.id]) or 1.0
        )

    works = [(fit, work(fit)) for fit in fits] if show else []
    with watched(runner.observers, works, counts="predicting", show=show) as watch:
        for fit in fits:
            for split in splits[fit.id]:
                predict(fit, split, runner)
            watch.finished(fit)
