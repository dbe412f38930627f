"""Rehearsals of submissions: everything that `submit` does, on a few rows, and marked so that nobody hands it in."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from benchrunner import Answers, Leaderboard, Task
from benchrunner.results import (
    CellResult,
    Executor,
    Runner,
    StudyOptions,
    cells,
    find_run,
    output_places,
    predicting,
    run_study,
)
from benchrunner_submit.submission_files.manifests import Manifest, Marks
from benchrunner_submit.submission_files.writing import submission_path
from benchrunner_submit.submissions import gaps
from benchrunner_submit.submissions.submission import check_source, gaps_of, written_and_checked
from benchrunner_submit.submissions.submission_answers import AnswerSource, answers, with_origin

ROWS = 32
"""Number of rows of each split that a rehearsal reads: two batches of the usual size."""
_ALL = ("grid", "seeds", "restarts", "until_clear", "early_stop", "search", "trials", "start")
"""Options that multiply fits, or choose between several."""
_RUN = "run:"


@final
@dataclass(frozen=True)
class Rehearsal:
    """A rehearsal that `rehearse_submission` wrote."""

    board: Leaderboard
    path: Path
    """The archive or folder, whose name begins with `rehearsal-`."""
    manifest: Manifest
    faults: tuple[str, ...]
    """Every fault in the form of the files: empty if the leaderboard would take files of this form."""
    stops: tuple[str, ...]
    """What would stop the real submission: missing data, and test files of a wrong length. Empty without data."""

    def as_json(self) -> dict[str, Any]:
        """Return the rehearsal as JSON values."""
        return {**vars(self), "board": self.board.name, "manifest": self.manifest.content()}


def rehearse_submission(
    board: Leaderboard,
    path: Path,
    runner: Runner,
    *,
    backbone: str,
    tasks: Iterable[Task] | None = None,
    options: StudyOptions | None = None,
    executor: Executor | None = None,
    show_progress: bool = False,
) -> Rehearsal:
    """Do everything that `write_submission` does on the first rows of each split, and write a marked archive.

    The rows are those of the workspace's data folder, of which every file is read and counted; without a data folder,
    the tasks generate rows in their real file layout. Each task has one fit, with the first value of each option. Fits
    are kept in a temporary folder. The archive has the name of the real one after `rehearsal-`.
    """
    options = options or StudyOptions()
    check_source(backbone, (), options, executor)
    board.check_takes_files()
    path = submission_path(board, path)
    asked = None if tasks is None else [task.name for task in tasks]
    board = board.with_tasks(asked or ())
    if backbone.startswith(_RUN):
        backbone = f"{_RUN}{find_run(runner.workspace.runs, backbone.removeprefix(_RUN)).path.absolute()}"
    with tempfile.TemporaryDirectory(prefix="benchrunner-") as name:
        is_generated = runner.workspace.data is None
        runner = _runner_in(Path(name), board, runner)
        missing = gaps_of(board, asked, {}, runner)
        answered = gaps.answered_tasks(board, missing, runner)
        stops = list(gaps.described(board, missing))
        if runner.workspace.settings.official_counts:
            stops += gaps.wrong_counts(board, missing, runner)
        part = replace(board, files=tuple(file for file in board.files if file.pair not in missing))
        study = _few(options).study((backbone,), answered, runner)
        result = run_study(study, runner, executor=executor, show_progress=show_progress)
        values = answers(part, _first_answers(result.cells, result.cells[0].runner or runner), {}, runner)
    kind = "generated rows" if is_generated else "the first rows of the data"
    marks = Marks(
        missing={file.name: missing[file.pair] for file in board.files if file.pair in missing},
        rehearsal=f"fits of {ROWS} training rows answer at most {ROWS} rows of each test file ({kind})",
    )
    marked = path.with_name(f"rehearsal-{path.name}")
    output_places.check_place(marked, is_file=not board.is_folder)
    manifest, faults = written_and_checked(part, marked, values, marks, has_official_rows=False)
    return Rehearsal(board, marked, manifest, faults, tuple(stops))


def _runner_in(folder: Path, board: Leaderboard, runner: Runner) -> Runner:
    """Return a runner that keeps its fits below a folder; without a data folder, rows are generated there too."""
    workspace = replace(runner.workspace, runs=folder / "runs")
    if workspace.data is None:
        data = folder / "data"
        data.mkdir()
        for name in gaps.task_names(board):
            task = runner.plugins.tasks.find(name)
            if task.demo_files is not None:
                task.demo_files(0, data)
        settings = replace(workspace.settings, official_counts=False)
        workspace = replace(workspace, data=data, settings=settings)
    return runner.in_workspace(workspace)


def _few(options: StudyOptions) -> StudyOptions:
    """Return options for one fit of a few rows: of several values of an option, the first is taken."""
    recipe = {name: values[:1] for name, values in options.recipe.items()}
    unset: dict[str, Any] = dict.fromkeys(_ALL)
    return replace(options, recipe={**recipe, "limit_train": ROWS}, limit_dev=ROWS, keep="selected", **unset)


def _first_answers(fitted: Sequence[CellResult], runner: Runner) -> AnswerSource:
    """Return an answer source that answers the first rows of a split with the fits of a study."""

    def given(task: Task, split: str) -> Answers:
        fit = cells.selected_fit(next(cell for cell in fitted if cell.cell.task.name == task.name))
        rows = runner.planner.rows(task, split)
        rows = rows.taken(list(range(min(ROWS, len(rows)))))
        outputs = predicting.raw_outputs(fit, rows, runner)
        settings = predicting.decoding_settings(fit, runner)
        values = task.problem.decode(outputs, rows.table, settings)
        figures = task.problem.extra_figures(outputs, rows.table, settings)
        return with_origin(Answers(values, rows.table, figures, fit.id, fit.method, limit_dev=ROWS), [fit])

    return given
