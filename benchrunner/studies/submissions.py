"""Submissions: write a submission from a study's fits or from finished runs; check a submission by any author."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from benchrunner.data.sources import DataNotFound
from benchrunner.errors import RequestError, UnknownName
from benchrunner.executor import Executor
from benchrunner.leaderboards.checking import detect, find_faults, unchecked
from benchrunner.leaderboards.leaderboard import Leaderboard, Pair
from benchrunner.leaderboards.manifests import Manifest, read_manifest
from benchrunner.leaderboards.writing import submission_path, write_answers
from benchrunner.plugins.registry import Plugins
from benchrunner.progress import watched
from benchrunner.runs.runner import Runner
from benchrunner.studies import comparison_table
from benchrunner.studies.study import Result
from benchrunner.studies.study_options import StudyOptions
from benchrunner.studies.study_run import run_study
from benchrunner.studies.submission_answers import (
    AnswerSource,
    answers,
    check_counts,
    ensembles_of,
    missing,
    selected,
    together,
)
from benchrunner.tasks.prediction_files import rows_of
from benchrunner.tasks.task import Task
from benchrunner.workspace import Settings, Workspace

if TYPE_CHECKING:
    import pyarrow as pa


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
    """Result of `find_faults`: empty if the leaderboard would accept the submission."""
    result: Result | None = None
    """The study whose selected fits answer; None if finished runs or the majority answer."""

    def as_json(self) -> dict[str, Any]:
        """Return the submission, and the result of its study, as JSON values."""
        return {
            "board": self.board.name,
            "url": self.board.url,
            "path": str(self.path),
            "manifest": self.manifest.as_json(),
            "faults": list(self.faults),
            "result": None if self.result is None else comparison_table.as_json(self.result),
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
) -> Submission:
    """Fit what is not fitted, answer every test split, and write the archive or folder with its manifest.

    Give either `backbone`, which is fitted to the board's tasks, or `ensemble`: finished runs, of which those of one
    task answer together. Tasks that are not among `tasks` (default: all) or that have no data are missing: with `fill`
    the majority answers them and the manifest says so, else a `RequestError` lists them before anything is fitted.
    `path` is the archive, or a folder that gets an archive with the board's usual name.
    """
    options = options or StudyOptions()
    if (backbone is None) == (not ensemble):
        raise RequestError("A submission needs either a backbone or the runs of an ensemble.")
    if ensemble:
        _refuse_fitting(options, executor)
    path = submission_path(board, path)
    ensembles = ensembles_of(board, ensemble, runner) if ensemble else {}
    absent = _missing(board, None if tasks is None else [task.name for task in tasks], ensembles, runner)
    if absent and not fill:
        lines = "\n".join(f"  - {name}: {reason.splitlines()[0]}" for name, reason in absent.items())
        raise RequestError(
            f"A submission to {board.name} needs every task, and these are missing:\n{lines}\n"
            "Nothing was fitted. Give their data, or '--fill majority' to answer them by the majority."
        )
    answered = [runner.plugins.task(name) for name in _task_names(board) if name not in absent]
    check_counts(board, answered, runner)
    result: Result | None = None
    source = together(ensembles, runner)
    if backbone is not None:
        if answered:
            study = options.study((backbone,), answered, runner)
            result = run_study(study, runner, executor=executor, show_progress=show_progress)
        source = selected(board, result.cells if result is not None else (), runner)
        _predict(board, result, source, runner, show=show_progress)
    values = answers(board, source, absent, runner)
    path = write_answers(board, values, path)
    tables = {pair: value.table for pair, value in values.items() if value.table is not None}
    return Submission(board, path, read_manifest(path), tuple(find_faults(board, path, tables=tables)), result)


def _refuse_fitting(options: StudyOptions, executor: Executor | None) -> None:
    """Raise a `RequestError` for options that say how to fit, because finished runs are not fitted."""
    names = list(options.given) + (["method"] if options.method else []) + (["executor (or jobs)"] if executor else [])
    if names:
        raise RequestError(f"Finished runs are not fitted again: the option {names[0]} has no effect; leave it out.")


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
    tasks = [runner.plugins.task(name) for name in board_tasks]
    return missing(board, tasks, chosen, runner, unchosen=unchosen)


def _predict(board: Leaderboard, result: Result | None, source: AnswerSource, runner: Runner, *, show: bool) -> None:
    """Answer the test splits with progress. Runs keep their answers, so that they are only read afterwards."""
    cells = [cell for cell in (result.cells if result is not None else ()) if cell.selected is not None]
    fits = [(cell.selected, 1.0) for cell in cells if cell.selected is not None]
    with watched(runner, fits, counts="predicting", show=show):
        for name, split in board.wanted:
            if name in [cell.cell.task.name for cell in cells]:
                source(runner.plugins.task(name), split)


@final
@dataclass(frozen=True)
class CheckedSubmission:
    """What `check_submission` found."""

    board: Leaderboard
    path: Path
    faults: tuple[str, ...]
    """Every fault; empty if the submission is valid."""
    unchecked: tuple[str, ...]
    """What could not be checked, a sentence each."""
    not_found: tuple[str, ...]
    """Rows to compare with that `data` does not have, a sentence each."""
    official_counts: bool
    """False if a manifest replaced the official row counts."""

    def as_json(self) -> dict[str, Any]:
        """Return everything that was found as JSON values."""
        return {
            "board": self.board.name,
            "path": str(self.path),
            "valid": not self.faults,
            "faults": list(self.faults),
            "unchecked": list(self.unchecked),
            "not_found": list(self.not_found),
            "official_counts": self.official_counts,
        }


def check_submission(
    path: Path,
    plugins: Plugins,
    *,
    board: Leaderboard | None = None,
    data: Path | None = None,
    gold: Path | None = None,
    counts_from_manifest: bool = False,
) -> CheckedSubmission:
    """Find every fault of an archive, a folder of its files or one of its files, whoever wrote it.

    Without `board`, the names of the files say which leaderboard it is for. Ids and words are compared with the rows in
    the data folder `data`, or in the file `gold` in the task's own layout. With `counts_from_manifest`, the manifest
    beside `path` gives the expected row counts instead of the leaderboard: for archives of demo data.
    """
    if not path.exists():
        raise RequestError(f"{path}: there is no such file or folder.")
    if data is not None and not data.is_dir():
        raise RequestError(f"--data {data}: there is no such folder.")
    board = board or detect(plugins.leaderboards.values(), path)
    manifest = read_manifest(path) if counts_from_manifest else None
    pairs = tuple(dict.fromkeys(file.pair for file in board.files if file.kind.row_columns))
    tables, not_found = dict[Pair, "pa.Table"](), list[str]()
    if gold is not None:
        tables = _gold_table(board, pairs, gold, plugins)
    elif data is not None:
        tables, not_found = _found_tables(pairs, data, plugins)
    return CheckedSubmission(
        board,
        path,
        faults=tuple(find_faults(board, path, manifest=manifest, tables=tables)),
        unchecked=tuple(unchecked(board, path, tables=tables)),
        not_found=tuple(not_found),
        official_counts=manifest is None or manifest.is_official,
    )


def _gold_table(board: Leaderboard, pairs: Sequence[Pair], gold: Path, plugins: Plugins) -> dict[Pair, pa.Table]:
    """Read the rows that the board's files are compared with from the user's file."""
    if not pairs:
        raise RequestError(f"The files of {board.name} name no rows to compare: leave --gold out.")
    if len(pairs) > 1:
        raise RequestError(f"--gold is one file of rows; {board.name} compares answers to {len(pairs)} splits.")
    name, split = pairs[0]
    return {pairs[0]: rows_of(plugins.task(name), split, gold, _offline(None)).table}


def _found_tables(pairs: Iterable[Pair], data: Path, plugins: Plugins) -> tuple[dict[Pair, pa.Table], list[str]]:
    """Read the rows below a data folder, never from the hub; return with the rows why others are not there."""
    tables, reasons = {}, []
    for name, split in pairs:
        try:
            tables[name, split] = plugins.task(name).load(split, _offline(data)).table
        except (DataNotFound, UnknownName) as reason:
            reasons.append(str(reason))
    return tables, reasons


def _offline(data: Path | None) -> Workspace:
    return Workspace(runs=Path(), cache=Path(), data=data, settings=Settings(offline=True))
