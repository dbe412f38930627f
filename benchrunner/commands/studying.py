"""compare --study: what makes a study file's systems, their fits, and its table."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, final

from benchrunner.commands import options
from benchrunner.commands.fitting import run_asked
from benchrunner.errors import FitError, RequestError
from benchrunner.recipes import SPECIAL
from benchrunner.studies import study_file
from benchrunner.studies.study_file import Column, StudyFile, System
from benchrunner.tasks.suites import Term

if TYPE_CHECKING:
    from benchrunner.plugins.registry import Plugins
    from benchrunner.runs.runner import Runner
    from benchrunner.studies.study import CellResult, Result, Study
    from benchrunner.studies.study_table import Entry
    from benchrunner.tasks.task import Task
    from benchrunner.workspace import Workspace

PROGRAM = (sys.executable, "-m", "benchrunner")
"""What a system's command is given to."""
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Told = tuple[str | None, tuple[tuple[str, Any], ...]]
"""A method and recipe options: what two cells must share to be in one study."""


@final
@dataclass(frozen=True)
class Wanted:
    """What one system needs for one column."""

    system: System
    column: Column
    task: Task
    term: Term
    told: Told


def study_command(arguments: argparse.Namespace) -> int:
    _refuse(arguments)
    study = _asked(arguments)
    columns = study.only(arguments.columns.split(",")) if arguments.columns is not None else study.columns
    study, runner = replace(study, columns=columns), options.runner(arguments)
    wanted = _wanted(study, arguments, runner)
    planned = list(_planned(wanted, arguments, runner))
    options.executor(arguments)  # one that cannot be used is better said now
    _check_commands(study, arguments.plugins)
    _check_backbones((one.system for one in wanted if one.system.make is None), study, runner)
    for number, (words, system) in enumerate(study.made.items(), start=1):
        if not arguments.quiet:
            print(f"{number} of {len(study.made)}, {system}: benchrunner {shlex.join(words)}", file=sys.stderr)
        make(words, runner.workspace, quiet=arguments.quiet)
    _check_backbones((one.system for one in wanted), study, runner)
    results = [(told, run_asked(one, runner, arguments)) for told, one in planned]
    return _show(study, _entries(study, wanted, results), [result for _, result in results], as_json=arguments.json)


def _refuse(arguments: argparse.Namespace) -> None:
    """A `RequestError` for what the file says, and the command line cannot."""
    given = {"backbones": arguments.backbones, "--tasks": arguments.tasks, "--method": arguments.method}
    for name, value in given.items():
        if value:
            advice = " Part of its columns is --columns A,B." if name == "--tasks" else ""
            raise RequestError(f"--study {arguments.study} says which {name.strip('-')} there are.{advice}")


def _asked(arguments: argparse.Namespace) -> StudyFile:
    name, path = arguments.plugins.study(arguments.study)
    given: dict[str, str] = {}
    for one in arguments.set or ():
        key, sign, value = one.partition("=")
        if not sign:
            raise RequestError(f"--set takes NAME=VALUE, not '{one}'; a value with blanks in it goes into quotes.")
        if key in given:
            raise RequestError(f"--set names {key} twice.")
        given[key] = value
    return study_file.read(path, given, name=name)


def _wanted(study: StudyFile, arguments: argparse.Namespace, runner: Runner) -> list[Wanted]:
    """Every system's part in every column of a task, its rows at hand."""
    found, read = list[Wanted](), set[str]()
    for column in study.columns:
        if column.task:
            with _naming(f"{study.name}, column {column.name}", "Leave it out: --columns takes the others, by comma."):
                task, term = _figure(column, runner)
                for system in study.systems:
                    method = column.method or system.method
                    read |= options.read_by(task, method, runner)
                    told = _told(study, column, task, method, arguments, runner)
                    found.append(Wanted(system, column, task, term, told))
    options.refuse_unread(arguments, read)
    return found


def _figure(column: Column, runner: Runner) -> tuple[Task, Term]:
    """A column's task and which of its figures is meant; a `RequestError` where either, or the rows, are not there."""
    task = runner.plugins.task(column.task)
    splits, metrics = task.named("dev"), [metric.name for metric in task.metrics]
    split, metric = column.split or next(iter(splits), ""), column.metric or metrics[0]
    for kind, name, known in (("split of the role 'dev'", split, splits), ("metric", metric, metrics)):
        if name not in known:
            raise RequestError(f"{task.name} has no {kind} '{name}'; it has {', '.join(known) or 'none'}.")
    for needed in (task.train, *splits):
        runner.rows(task, needed)  # what is missing is better said before hours of making than after
    return task, Term(task.name, split, metric)


def _told(
    study: StudyFile, column: Column, task: Task, method: str | None, arguments: argparse.Namespace, runner: Runner
) -> Told:
    """The command line's options over the column's over the file's, without what nothing here reads."""
    told: Mapping[str, Any] = options.given_recipe(arguments)
    for where, texts in ((f"column {column.name}", column.recipe), ("recipe", study.recipe)):
        told = options.over(told, options.recipe_of(texts, f"{study.path}: {where}"))
    read = options.read_by(task, method, runner)
    return method, tuple(sorted((name, value) for name, value in told.items() if name not in SPECIAL or name in read))


def _planned(wanted: Iterable[Wanted], arguments: argparse.Namespace, runner: Runner) -> Iterator[tuple[Told, Study]]:
    """Each different fit in one study: those that are told the same, backbones with the same tasks together."""
    needs: dict[Told, dict[str, dict[str, Task]]] = {}
    for one in wanted:
        needs.setdefault(one.told, {}).setdefault(one.system.backbone, {})[one.task.name] = one.task
    for told, by_backbone in needs.items():
        method, recipe = told
        own = argparse.Namespace(**{**vars(arguments), **dict.fromkeys(options.RECIPE), **dict(recipe)})
        own.method = method
        together: dict[tuple[str, ...], list[str]] = {}
        for backbone, tasks in by_backbone.items():
            together.setdefault(tuple(tasks), []).append(backbone)
        for names, backbones in together.items():
            tasks_of_all = [runner.plugins.task(name) for name in names]
            yield told, options.study(own, tuple(backbones), tasks_of_all, runner)


def _check_commands(study: StudyFile, plugins: Plugins) -> None:
    """A `RequestError` for a command that benchrunner does not understand, before any of them runs."""
    from benchrunner.commands.main import parser

    known = parser(plugins)
    for words, system in study.made.items():
        try:
            known.parse_args(words)
        except SystemExit:  # argparse has said why
            raise RequestError(
                f"{study.name}: '{system}' is made by a command that cannot be understood, as said above: "
                f"benchrunner {shlex.join(words)}"
            ) from None


def _check_backbones(systems: Iterable[System], study: StudyFile, runner: Runner) -> None:
    for system in systems:
        with _naming(f"{study.name}, system {system.name}"):
            runner.backbone(system.backbone)


@contextlib.contextmanager
def _naming(where: str, advice: str = "") -> Iterator[None]:
    """What is wrong with a part of a file is told with the part."""
    try:
        yield
    except RequestError as error:
        raise RequestError(f"{where}: {error}\n{advice}".rstrip()) from None  # the error may end in a list


def make(words: tuple[str, ...], workspace: Workspace, *, quiet: bool = False) -> None:
    """Run a benchrunner command in a process of its own and in the same workspace; what it prints is progress."""
    with contextlib.ExitStack() as stack:
        said: IO[bytes] | int = stack.enter_context(tempfile.TemporaryFile()) if quiet else 2
        # In a group of its own: a terminal's Ctrl-C would reach it too, and with ours that would be two.
        process = subprocess.Popen(
            [*PROGRAM, *words], stdout=said, stderr=said, env=_environment(workspace), process_group=0
        )
        stopped = _waited(process)
        code = process.returncode
        if stopped or code in (130, -signal.SIGINT, -signal.SIGTERM):
            raise KeyboardInterrupt
        if code and not isinstance(said, int):
            said.seek(0)
            sys.stderr.write(said.read().decode(errors="replace"))
    if code:
        wrong: type[RequestError | FitError] = RequestError if code == 2 else FitError
        raise wrong(
            f"This command ended with exit code {code}, as said above: benchrunner {shlex.join(words)}\n"
            "What was made before it is kept: the same study goes on from there."
        )


def _waited(process: subprocess.Popen[bytes]) -> bool:
    """Wait for its end, handing on what asks us to stop; whether anything did."""
    stopped = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        stopped.append(number)
        process.send_signal(number)

    heard = [number for number in _PASSED_ON if signal.getsignal(number) is not signal.SIG_IGN]  # as under nohup
    before = {number: signal.signal(number, pass_on) for number in heard}
    try:
        process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return bool(stopped)


def _environment(workspace: Workspace) -> dict[str, str]:
    named = {
        "BENCHRUNNER_RUNS": workspace.runs,
        "BENCHRUNNER_CACHE": workspace.cache,
        "BENCHRUNNER_DATA": workspace.data,
    }
    return {**os.environ, **{name: str(path) for name, path in named.items() if path is not None}}


def _entries(
    study: StudyFile, wanted: Iterable[Wanted], results: Iterable[tuple[Told, Result]]
) -> dict[tuple[str, str], Entry]:
    from benchrunner.studies.study_table import logged, scored

    cells: dict[tuple[Told, str, str], CellResult] = {}
    for told, result in results:
        cells |= {(told, one.cell.backbone, one.cell.task.name): one for one in result.cells}
    found = {
        (one.system.name, one.column.name): scored(
            cells[one.told, one.system.backbone, one.task.name], one.task, one.term
        )
        for one in wanted
    }
    for column in study.columns:
        if column.figure:
            found |= {(system.name, column.name): logged(system, column.figure) for system in study.systems}
    return found


def _show(study: StudyFile, entries: Mapping[tuple[str, str], Entry], results: list[Result], *, as_json: bool) -> int:
    """Print the table; the exit code says whether every fit finished."""
    from benchrunner.studies import study_table

    crossed = study_table.Crossed(study, study.columns, entries, tuple(results))
    if as_json:
        print(json.dumps(study_table.as_json(crossed), indent=2, ensure_ascii=False))
    else:
        from rich.console import Console

        console = Console(width=None if sys.stdout.isatty() else 140)
        console.print(study.title, markup=False, highlight=False, soft_wrap=True)
        console.print(study_table.table(crossed))
        for note in study_table.footnotes(crossed):
            console.print(f"  {note}", markup=False, highlight=False, soft_wrap=True)
    return 1 if any(cell.lost for result in results for cell in result.cells) else 0
