"""submit, check: files for leaderboards, ours and anybody's."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner.commands import options
from benchrunner.commands.fitting import show
from benchrunner.data.sources import DataNotFound
from benchrunner.errors import RequestError, UnknownName
from benchrunner.leaderboards import checking, writing
from benchrunner.leaderboards.leaderboard import Leaderboard, Pair
from benchrunner.leaderboards.manifests import manifest_path, read_manifest
from benchrunner.progress import watched
from benchrunner.runs.runner import Runner
from benchrunner.studies.study_run import run_study
from benchrunner.studies.submission_answers import (
    Given,
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


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    submit = commands.add_parser("submit", help="fit what is not fitted, answer every test file, write the archive")
    submit.add_argument("board", metavar="BOARD", help="a leaderboard: see 'benchrunner list leaderboards'")
    source = submit.add_mutually_exclusive_group(required=True)
    source.add_argument("--backbone", metavar="B", help="a name, a folder, a hub id, or run:ID")
    source.add_argument(
        "--ensemble", nargs="+", metavar="RUN", help="finished runs instead: those of one task answer it together"
    )
    submit.add_argument("--tasks", nargs="+", metavar="TASK", help="fit only these; the rest must be filled")
    submit.add_argument("--fill", choices=("majority",), help="answer missing tasks by the majority, and mark them")
    submit.add_argument("--out", type=Path, default=Path(), metavar="PATH", help="the archive or its folder (.)")
    options.recipe(submit)
    options.workspace_options(submit)
    options.computing(submit)
    submit.set_defaults(run=submit_command, json=False)
    check = commands.add_parser("check", help="every fault of a submission, ours or not")
    check.add_argument("file", type=Path, metavar="FILE", help="the archive, a folder of its files, or one file of it")
    check.add_argument("--board", metavar="BOARD", help="instead of guessing by the file names")
    check.add_argument("--data", type=Path, metavar="DIR", help="raw data files: compare ids and words with their rows")
    check.add_argument("--gold", type=Path, metavar="FILE", help="the rows to compare with, in the task's own layout")
    check.add_argument(
        "--counts-from-manifest",
        action="store_true",
        help="expect the row counts of FILE.json beside it, not the official ones: for archives of demo data",
    )
    check.set_defaults(run=check_command)


def submit_command(arguments: argparse.Namespace) -> int:
    board = arguments.plugins.leaderboard(arguments.board)
    runner = options.runner(arguments)
    wanted = list(dict.fromkeys(task for task, _ in board.wanted))
    if arguments.ensemble:
        options.refuse_recipe(arguments, "--ensemble answers with finished runs")
    ensembles = ensembles_of(board, arguments.ensemble, runner) if arguments.ensemble else {}
    chosen, unchosen = list(ensembles) or wanted, "not among --ensemble"
    if arguments.tasks:
        asked = [task.name for task in options.tasks(arguments, arguments.tasks)]
        if not set(asked) & set(wanted):
            raise RequestError(f"{board.name} takes no answers to {', '.join(asked)}, but to {', '.join(wanted)}.")
        chosen = [name for name in chosen if name in asked]
        unchosen = f"{unchosen} and --tasks" if ensembles else "not among --tasks"
    tasks = [arguments.plugins.task(name) for name in wanted]
    absent = missing(board, tasks, chosen, runner, unchosen=unchosen)
    if absent and not arguments.fill:
        lines = "\n".join(f"  - {name}: {reason.splitlines()[0]}" for name, reason in absent.items())
        raise RequestError(
            f"A submission to {board.name} needs every task, and these are missing:\n{lines}\n"
            "Nothing was fitted. Give their data, or '--fill majority' to answer them by the majority."
        )
    answered = [arguments.plugins.task(name) for name in wanted if name not in absent]
    check_counts(board, answered, runner)
    given = together(ensembles, runner) if ensembles else _fitted(board, answered, runner, arguments)
    found = answers(board, given, absent, runner)
    path = writing.write_answers(board, found, arguments.out)
    return _verdict(board, path, {pair: one.table for pair, one in found.items() if one.table is not None})


def _fitted(board: Leaderboard, tasks: list[Task], runner: Runner, arguments: argparse.Namespace) -> Given:
    """A study's selected fits, run and shown; nothing where every task is filled."""
    if not tasks:
        return selected(board, (), runner)
    study = options.study(arguments, (arguments.backbone,), tasks, runner)
    result = run_study(study, runner, executor=options.executor(arguments), show_progress=not arguments.quiet)
    show(result, as_json=False)
    given = selected(board, result.cells, runner)
    chosen = [(one.selected, 1.0) for one in result.cells if one.selected is not None]
    with watched(runner, chosen, counts="predicting", show=not arguments.quiet):
        for name, split in board.wanted:  # while somebody watches; what is answered once is read afterwards
            if name in [task.name for task in tasks]:
                given(runner.plugins.task(name), split)
    return given


def _verdict(board: Leaderboard, path: Path, tables: Mapping[Pair, pa.Table]) -> int:
    problems = checking.find_faults(board, path, tables=tables)
    for one in read_manifest(path).filled:
        print(f"  {one.file} is filled: {one.filled}")
    for problem in problems:
        print(problem)
    if not problems:
        print(f"{path} is ready for {board.name}; {manifest_path(path)} says where each file came from.")
    _say(board.note)
    return int(bool(problems))


def _say(note: str) -> None:
    if note:
        print(note)


def check_command(arguments: argparse.Namespace) -> int:
    path, plugins = arguments.file, arguments.plugins
    if not path.exists():
        raise RequestError(f"{path}: there is no such file.")
    known = plugins.leaderboards.values()
    board = plugins.leaderboard(arguments.board) if arguments.board else checking.detect(known, path)
    manifest = read_manifest(path) if arguments.counts_from_manifest else None
    tables = _tables(board, arguments)
    problems = checking.find_faults(board, path, manifest=manifest, tables=tables)
    for problem in problems:
        print(problem)
    if problems:
        several = "problems" if len(problems) > 1 else "problem"
        print(f"{path}: {len(problems)} {several}; {board.name} would not accept it as meant.")
        return 1
    official = "" if manifest is None or manifest.is_official else " (with the manifest's row counts, not the official)"
    print(f"{path} is a valid {board.name} submission{official}.")
    unseen = checking.unchecked(board, path, tables=tables)
    _say("\n".join(unseen))
    _say("Give --data DIR or --gold FILE to compare with the rows." * any("compared" in one for one in unseen))
    _say(board.note)
    return 0


def _tables(board: Leaderboard, arguments: argparse.Namespace) -> dict[Pair, pa.Table]:
    """The rows that the board's files are compared with, as far as the user names them and they are there."""
    pairs = dict.fromkeys(file.pair for file in board.files if file.kind.compares)
    if arguments.gold is not None:
        if not pairs:
            raise RequestError(f"The files of {board.name} name no rows to compare: leave --gold out.")
        if len(pairs) > 1:
            raise RequestError(f"--gold is one file of rows; {board.name} compares answers to {len(pairs)} splits.")
        (name, split) = next(iter(pairs))
        task = arguments.plugins.task(name)
        return {(name, split): rows_of(task, split, arguments.gold, _here(None)).table}
    return _found(pairs, arguments) if arguments.data is not None else {}


def _found(pairs: Iterable[Pair], arguments: argparse.Namespace) -> dict[Pair, pa.Table]:
    """Rows below the data folder; nobody else is asked, and what is nowhere is left out."""
    tables = {}
    for name, split in pairs:
        try:
            tables[name, split] = arguments.plugins.task(name).load(split, _here(arguments.data)).table
        except (DataNotFound, UnknownName) as reason:
            print(f"{reason}", file=sys.stderr)
    return tables


def _here(data: Path | None) -> Workspace:
    if data is not None and not data.is_dir():
        raise RequestError(f"--data {data}: there is no such folder.")
    return Workspace(runs=Path(), cache=Path(), data=data, settings=Settings(offline=True))
