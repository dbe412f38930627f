"""score: anybody's prediction file by the official rules."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from benchrunner.commands import options
from benchrunner.data.rows import Rows
from benchrunner.errors import PluginError, RequestError
from benchrunner.leaderboards.leaderboard import spellings_of
from benchrunner.metrics import Score
from benchrunner.plugins.registry import Plugins
from benchrunner.tasks.prediction_files import rows_of, score_file
from benchrunner.tasks.scorers import Scorer
from benchrunner.tasks.task import Task

_FILES = "file of "
"""Before the name of a scorer's option where it is stored: no option of our own has such a name."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser], plugins: Plugins) -> None:
    score = commands.add_parser("score", help="the official figures of a prediction file against labelled rows")
    score.add_argument("task", metavar="TASK")
    score.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="what the task's official scorer reads, or index<TAB>prediction with a header, or one answer a line",
    )
    score.add_argument(
        "--gold", type=Path, metavar="FILE", help="labelled rows in the task's own layout (the dev split)"
    )
    score.add_argument("--split", help="which labelled split of the task's data (the first dev)")
    options.workspace_options(score)
    options.output(score)
    _add_files(score, plugins)
    score.set_defaults(run=score_command)


def _add_files(parser: argparse.ArgumentParser, plugins: Plugins) -> None:
    """An option for each further file that a task's scorer may be given; scorers of several tasks may share one."""
    known = set[str]()
    for task in plugins.tasks.values():
        try:
            for name, about in (task.scorer.options if task.scorer is not None else {}).items():
                if name not in known:
                    _add_file(parser, name, about)
                known.add(name)
        except Exception as error:  # a plugin's scorer may be broken; the others work
            plugins.fail(plugins.supplier(task).name, error, f"the options of {task.name}'s scorer: ")


def _add_file(parser: argparse.ArgumentParser, name: str, about: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise PluginError(f"'{name}' is no name of an option: lower case and hyphens are")
    parser.add_argument(f"--{name}", type=Path, metavar="FILE", dest=_FILES + name, help=about.replace("%", "%%"))


def score_command(arguments: argparse.Namespace) -> int:
    task = arguments.plugins.task(arguments.task)
    split = arguments.split or next(iter(task.named("dev")), task.train)
    if split not in task.splits:
        raise RequestError(f"{task.name} has no split '{split}'; it has {', '.join(task.splits)}.")
    files = _scorer_files(task, arguments)
    if task.scorer is not None and arguments.file.is_file() and task.scorer.recognizes(arguments.file):
        return _score_officially(task, task.scorer, split, files, arguments)
    if files:
        raise RequestError(f"--{next(iter(files))} belongs to the official layout, which {arguments.file} has not.")
    rows = _rows(task, split, arguments)
    spellings = spellings_of(task, arguments.plugins.leaderboards.values())
    scores = score_file(task, rows, arguments.file, spellings=spellings)
    if arguments.json:
        print(_as_json(scores))
        return 0
    print(f"{arguments.file} against {rows.origin} ({len(rows):,} rows)")
    width = max(10, *(len(name) for name in scores))
    scales = {metric.name: metric.scale for metric in task.metrics}
    for name, one in scores.items():
        figure = f"{one.value * scales[name]:.2f}" if one.value is not None else f"absent: {one.reason}"
        print(f"  {name:<{width}} {figure}")
    return 0


def _score_officially(
    task: Task, scorer: Scorer, split: str, files: Mapping[str, Path], arguments: argparse.Namespace
) -> int:
    named = arguments.gold is not None or arguments.split is not None
    rows = _rows(task, split, arguments) if scorer.needs_gold or named else None
    scored = scorer.score(arguments.file, rows, files)
    for note in scored.notes:
        print(note, file=sys.stderr)
    print(_as_json(scored.figures) if arguments.json else scored.text.removesuffix("\n"))
    return 0


def _scorer_files(task: Task, arguments: argparse.Namespace) -> dict[str, Path]:
    """Option -> file, for those of all scorers' options that were given."""
    given = {key.removeprefix(_FILES): value for key, value in vars(arguments).items() if key.startswith(_FILES)}
    files = {name: path for name, path in given.items() if path is not None}
    for name, path in files.items():
        if task.scorer is None or name not in task.scorer.options:
            tasks = [one for one in arguments.plugins.tasks.values() if one.scorer and name in one.scorer.options]
            known = ", ".join(one.name for one in tasks)
            raise RequestError(f"--{name} says nothing about {task.name}; it is for {known}.")
        if not path.is_file():
            raise RequestError(f"--{name} {path}: there is no such file.")
    return files


def _as_json(scores: Mapping[str, Score]) -> str:
    return json.dumps({name: one.as_json() for name, one in scores.items()}, indent=2)


def _rows(task: Task, split: str, arguments: argparse.Namespace) -> Rows:
    """The labelled rows to score against; what is unusual about them is said."""
    workspace = options.workspace_of(arguments)
    rows = (
        rows_of(task, split, arguments.gold, workspace) if arguments.gold is not None else task.load(split, workspace)
    )
    for note in rows.notes:
        print(f"{rows.origin}: {note}", file=sys.stderr)
    return rows
