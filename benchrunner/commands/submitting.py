"""submit, check, score: files for leaderboards, ours and anybody's."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from benchrunner import submissions
from benchrunner.commands import options
from benchrunner.commands.fitting import run_watched, show
from benchrunner.errors import RequestError
from benchrunner.manifests import manifest_path, read_manifest
from benchrunner.places import Places
from benchrunner.progress import Watch
from benchrunner.scoring import score_file, spellings_of
from benchrunner.sources import Rows, TextTable
from benchrunner.tasks import Task


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    submit = commands.add_parser("submit", help="fit what is not fitted, answer every test file, write the archive")
    submit.add_argument("board", metavar="BOARD", help="a leaderboard: see 'benchrunner list leaderboards'")
    submit.add_argument("--backbone", required=True, metavar="B", help="a name, a folder, a hub id, or run:ID")
    submit.add_argument("--tasks", nargs="+", metavar="TASK", help="fit only these; the rest must be filled")
    submit.add_argument("--fill", choices=("majority",), help="answer missing tasks by the majority, and mark them")
    submit.add_argument("--out", type=Path, default=Path(), metavar="PATH", help="the archive or its folder (.)")
    options.recipe(submit)
    options.places(submit)
    options.computing(submit)
    submit.set_defaults(run=submit_command, json=False)
    check = commands.add_parser("check", help="every fault of a submission archive, ours or not")
    check.add_argument("file", type=Path, metavar="FILE", help="the archive, or a folder of its files")
    check.add_argument("--board", metavar="BOARD", help="instead of guessing by the file names")
    check.add_argument(
        "--counts-from-manifest",
        action="store_true",
        help="expect the row counts of FILE.json beside it, not the official ones: for archives of demo data",
    )
    check.set_defaults(run=check_command)
    score = commands.add_parser("score", help="the official figures of a prediction file against labelled rows")
    score.add_argument("task", metavar="TASK")
    score.add_argument(
        "file", type=Path, metavar="FILE", help="index<TAB>prediction with a header, or one answer a line"
    )
    score.add_argument(
        "--gold", type=Path, metavar="FILE", help="labelled rows in the task's own layout (the dev split)"
    )
    score.add_argument("--split", help="which labelled split of the task's data (the first dev)")
    options.places(score)
    options.output(score)
    score.set_defaults(run=score_command)


def submit_command(arguments: argparse.Namespace) -> int:
    from benchrunner.submitting import answers, check_counts, missing

    board = arguments.plugins.leaderboard(arguments.board)
    runner = options.runner(arguments)
    wanted = list(dict.fromkeys(task for task, _ in board.wanted))
    chosen = [task.name for task in options.tasks(arguments, arguments.tasks)] if arguments.tasks else wanted
    absent = missing(board, [arguments.plugins.task(name) for name in wanted], chosen, runner)
    if absent and not arguments.fill:
        lines = "\n".join(f"  - {name}: {reason.splitlines()[0]}" for name, reason in absent.items())
        raise RequestError(
            f"A submission to {board.name} needs every task, and these are missing:\n{lines}\n"
            "Nothing was fitted. Give their data, or '--fill majority' to answer them by the majority."
        )
    fitted = [arguments.plugins.task(name) for name in wanted if name not in absent]
    check_counts(board, fitted, runner)
    result = None
    if fitted:
        study = options.study(arguments, (arguments.backbone,), fitted, runner)
        result = run_watched(study, runner, executor=options.executor(arguments), quiet=arguments.quiet)
        show(result, as_json=False)
    chosen_fits = [(one.selected, 1.0) for one in result.cells if one.selected is not None] if result else []
    with Watch(chosen_fits, counts="predicting", quiet=arguments.quiet) as watch:
        runner.report = watch
        found = answers(board, result, absent, runner)
    path = submissions.write(board, found, arguments.out)
    return _verdict(arguments, path, board.name)


def _verdict(arguments: argparse.Namespace, path: Path, board: str) -> int:
    manifest = read_manifest(path)
    problems = submissions.check(arguments.plugins.leaderboard(board), path)
    for one in manifest.filled:
        print(f"  {one.file} is filled: {one.filled}")
    for problem in problems:
        print(problem)
    if not problems:
        print(f"{path} is ready for {board}; {manifest_path(path)} says where each file came from.")
    return int(bool(problems))


def check_command(arguments: argparse.Namespace) -> int:
    boards = arguments.plugins.leaderboards
    if not arguments.file.exists():
        raise RequestError(f"{arguments.file}: there is no such file.")
    board = (
        arguments.plugins.leaderboard(arguments.board)
        if arguments.board
        else submissions.detect(boards.values(), arguments.file)
    )
    manifest = read_manifest(arguments.file) if arguments.counts_from_manifest else None
    problems = submissions.check(board, arguments.file, manifest=manifest)
    for problem in problems:
        print(problem)
    if problems:
        several = "problems" if len(problems) > 1 else "problem"
        print(f"{arguments.file}: {len(problems)} {several}; {board.name} would not accept it as meant.")
        return 1
    official = (
        "" if manifest is None or manifest.is_official else " (with the manifest's row counts, not the official ones)"
    )
    print(f"{arguments.file} is a valid {board.name} submission{official}.")
    return 0


def score_command(arguments: argparse.Namespace) -> int:
    task = arguments.plugins.task(arguments.task)
    places = options.found_places(arguments)
    split = arguments.split or next(iter(task.named("dev")), task.train)
    if split not in task.splits:
        raise RequestError(f"{task.name} has no split '{split}'; it has {', '.join(task.splits)}.")
    rows = _gold(task, split, arguments.gold) if arguments.gold else task.load(split, places)
    scores = score_file(
        task, rows, arguments.file, spellings=spellings_of(task, arguments.plugins.leaderboards.values())
    )
    if arguments.json:
        print(json.dumps({name: one.as_json() for name, one in scores.items()}, indent=2))
        return 0
    print(f"{arguments.file} against {rows.origin} ({len(rows):,} rows)")
    scales = {metric.name: metric.scale for metric in task.metrics}
    for name, one in scores.items():
        print(f"  {name:<10} {f'{one.value * scales[name]:.2f}' if one.value is not None else f'absent: {one.reason}'}")
    return 0


def _gold(task: Task, split: str, path: Path) -> Rows:
    """Labelled rows from a file of the task's own layout, wherever it lies."""
    if not path.is_file():
        raise RequestError(f"--gold {path}: there is no such file.")
    shapes = [source for source in task.splits[split].sources if isinstance(source, TextTable)]
    if not shapes:
        raise RequestError(f"{task.name} has no file layout for its split {split}; leave --gold out.")
    found = dataclasses.replace(shapes[0], path=path.name).read(Places(runs=Path(), cache=Path(), data=path.parent))
    return Rows(task.problem.check(found, labelled=True), found.origin, found.lines, found.notes)
