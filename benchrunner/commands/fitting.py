"""run, compare, predict, export: fits and what is done with them."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner.commands import options
from benchrunner.errors import RequestError
from benchrunner.files import write_atomically
from benchrunner.studies.study import Result, Study
from benchrunner.studies.study_run import run_study

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchrunner.plugins.registry import Plugins
    from benchrunner.runs.answering import Answered
    from benchrunner.runs.runner import Runner
    from benchrunner.tasks.task import Task


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    run = commands.add_parser("run", help="fit one backbone to one task or a few, and score dev")
    run.add_argument("tasks", nargs="+", metavar="TASK", help="a task (suite/task), its short name, or a whole suite")
    source = run.add_mutually_exclusive_group()
    source.add_argument("--backbone", metavar="B", help="a name, a folder, a hub id, or run:ID")
    source.add_argument("--init-from", metavar="RUN", help="go on from a finished fit; the same as --backbone run:RUN")
    compare = commands.add_parser(
        "compare", help="several backbones on several tasks: grid, restarts, selection, table"
    )
    named = compare.add_argument("backbones", nargs="+", metavar="B", help="a name, a folder, a hub id, or run:ID")
    named.required = False  # with --study; nargs="*" would find nobody behind another option
    compare.add_argument("--tasks", nargs="+", metavar="TASK", help="tasks or suites, by space or comma")
    study = compare.add_argument_group("study", "instead of backbones and --tasks, a file that says what is compared")
    study.add_argument("--study", metavar="NAME", help="see 'benchrunner list studies'; or the path of a .toml file")
    study.add_argument(
        "--set", nargs="+", action="extend", metavar="NAME=VALUE", help="its parameters; a wrong one lists them all"
    )
    study.add_argument("--columns", metavar="A,B", help="only these of its columns")
    for parser, action in ((run, run_command), (compare, compare_command)):
        options.recipe(parser)
        options.workspace_options(parser)
        options.computing(parser)
        options.output(parser)
        parser.set_defaults(run=action)
    predict = commands.add_parser("predict", help="a finished fit's answers, or several fits' together")
    predict.add_argument(
        "given",
        nargs="*",
        metavar="RUN FILE",
        help="the fit's id or the beginning of it (not with --ensemble), and a file in the layout of the task's own, "
        "labelled or not; without a file, a split of the task's data is answered and scored",
    )
    predict.add_argument("--ensemble", nargs="+", metavar="RUN", help="average these runs of one task")
    predict.add_argument("--split", help="which split of the task's data, where no file is given (the first dev)")
    predict.add_argument("--board", metavar="BOARD", help="write the files that this leaderboard takes, to --out DIR")
    predict.add_argument("--out", type=Path, metavar="PATH", help="instead of standard output")
    predict.set_defaults(run=predict_command)
    export = commands.add_parser("export", help="a finished fit as a checkpoint that other libraries load")
    export.add_argument(
        "fit",
        metavar="RUN",
        help="the fit's id or the beginning of it; or the folder of a checkpoint as a trainer left it",
    )
    export.add_argument("folder", type=Path, metavar="DIR", help="a folder that does not exist yet")
    export.set_defaults(run=export_command)
    for parser in (predict, export):
        options.workspace_options(parser)
        options.computing(parser)


def show(result: Result, *, as_json: bool) -> int:
    """Print a result; the exit code says whether every fit finished."""
    from benchrunner.studies import comparison_table

    if as_json:
        print(json.dumps(comparison_table.as_json(result), indent=2, ensure_ascii=False))
    else:
        from rich.console import Console

        console = Console(width=None if sys.stdout.isatty() else 140)
        console.print(comparison_table.comparison(result))
        for note in comparison_table.footnotes(result):
            console.print(f"  {note}", markup=False, highlight=False, soft_wrap=True)
    return 1 if any(one.lost for one in result.cells) else 0


def run_command(arguments: argparse.Namespace) -> int:
    runner = options.runner(arguments)
    tasks = options.tasks(arguments, arguments.tasks)
    study = options.study(arguments, (_backbone(arguments, tasks),), tasks, runner)
    result = run_asked(study, runner, arguments)
    code = show(result, as_json=arguments.json)
    if not arguments.json:
        for one in result.cells:
            if one.selected is not None:
                print(f"  {one.cell.task.name}: run {one.selected.id} in {runner.folder(one.selected).path}")
    return code


def _backbone(arguments: argparse.Namespace, tasks: Iterable[Task]) -> str:
    """The one that is asked for; none may be missing but for methods that never look at one."""
    if arguments.init_from is not None:
        return f"run:{arguments.init_from.removeprefix('run:')}"
    if arguments.backbone is None:
        plugins: Plugins = arguments.plugins
        for task in tasks:
            method = plugins.method(arguments.method or task.method)
            if method.needs_backbone:
                some = list(plugins.backbones)[:4]
                known = f"'benchrunner list backbones' has {', '.join(some)}, ..." if some else "No plugin brings one"
                raise RequestError(
                    f"{task.name} is answered by '{method.name}', which needs a backbone: give --backbone with a name, "
                    f"a folder or a hub id. {known}."
                )
        return "none"
    return str(arguments.backbone)


def run_asked(study: Study, runner: Runner, arguments: argparse.Namespace) -> Result:
    """With --json, standard output is for the JSON: what plugins print goes where progress goes."""
    with contextlib.redirect_stdout(sys.stderr) if arguments.json else contextlib.nullcontext():
        return run_study(study, runner, executor=options.executor(arguments), show_progress=not arguments.quiet)


def compare_command(arguments: argparse.Namespace) -> int:
    if arguments.study is not None:
        from benchrunner.commands.studying import study_command

        return study_command(arguments)
    _check_said(arguments)
    runner = options.runner(arguments)
    tasks = options.tasks(arguments, arguments.tasks)
    study = options.study(arguments, tuple(arguments.backbones), tasks, runner)
    result = run_asked(study, runner, arguments)
    return show(result, as_json=arguments.json)


def _check_said(arguments: argparse.Namespace) -> None:
    """A `RequestError` where neither backbones and tasks nor a file say what is compared."""
    if arguments.set or arguments.columns is not None:
        raise RequestError("--set and --columns are for a study file: give its name with --study.")
    if not arguments.backbones or not arguments.tasks:
        missing = "the backbones" if not arguments.backbones else "--tasks"
        raise RequestError(
            f"Say {missing}: 'compare B1 B2 --tasks TASK', or 'compare --study NAME' with one of "
            "'benchrunner list studies'."
        )


def predict_command(arguments: argparse.Namespace) -> int:
    from benchrunner.runs.answering import answer

    runs, files = _given(arguments)
    if arguments.board is not None and arguments.out is None:
        raise RequestError("--board writes files: say where with --out DIR.")
    answered = answer(runs, files[0] if files else None, arguments.split, options.runner(arguments))
    for note in answered.rows.notes:
        print(f"{answered.rows.origin}: {note}", file=sys.stderr)
    for name, score in answered.scores.items():
        scale = next(one.scale for one in answered.task.metrics if one.name == name)
        value = f"absent: {score.reason}" if score.value is None else f"{score.value * scale:.2f}"
        print(f"{answered.task.name} {name} {value}", file=sys.stderr)
    if arguments.board is not None:
        _write_board_files(answered, arguments)
        return 0
    lines = "".join(f"{at}\t{answered.task.problem.spell(one)}\n" for at, one in enumerate(answered.answers))
    text = f"index\tprediction\n{lines}"
    if arguments.out is None:
        print(text, end="")
    else:
        write_atomically(arguments.out, lambda part: part.write_text(text, encoding="utf-8"))
        print(f"{len(answered.answers)} answers in {arguments.out}")
    return 0


def _given(arguments: argparse.Namespace) -> tuple[list[str], list[Path]]:
    """The runs that answer, and the file to be answered, if there is one."""
    runs, files = arguments.given[:1], arguments.given[1:]
    if arguments.ensemble:
        runs, files = list(arguments.ensemble), arguments.given
        if not files and Path(runs[-1]).is_file():  # written behind the runs, as people do
            files = [runs.pop()]
    if not runs:
        raise RequestError("Name the run that is to answer, or several after --ensemble.")
    if len(files) > 1:
        raise RequestError(f"One file at a time, not {', '.join(files)}; several runs go behind --ensemble.")
    if files and arguments.split is not None:
        raise RequestError("--split names a part of the task's own data: give it, or a file.")
    return runs, [Path(one) for one in files]


def _write_board_files(answered: Answered, arguments: argparse.Namespace) -> None:
    """A leaderboard's files with these answers, whatever rows they are for."""
    from benchrunner.leaderboards import writing
    from benchrunner.leaderboards.file_kind import Answers

    board = arguments.plugins.leaderboard(arguments.board)
    given = Answers(answered.answers, table=answered.rows.table, extra_figures=answered.extra_figures, fit=answered.by)
    files = board.files_of(answered.task.name)
    if not files:
        raise RequestError(f"{board.name} takes no answers to {answered.task.name}.")
    for file in files:
        if unread := [one for one in file.kind.compares if one not in answered.rows.table.column_names]:
            raise RequestError(
                f"{file.name} shows {', '.join(unread)} beside the answers, which a file of your own is read without: "
                f"give it as --data DIR and --split {file.split}, where {answered.task.name} has its own files."
            )
        content = writing.content(file, given, len(answered.rows))
        write_atomically(arguments.out / file.name, partial(Path.write_bytes, data=content))
        print(f"{len(answered.answers)} answers in {arguments.out / file.name}")


def export_command(arguments: argparse.Namespace) -> int:
    from benchrunner.runs.answering import convert, export

    source = Path(arguments.fit)
    if source.is_dir() and not (source / "fit.json").is_file():
        convert(source, arguments.folder, arguments.plugins)
        print(f"{arguments.folder} holds the model in its published layout.")
        return 0
    export(arguments.fit, arguments.folder, options.runner(arguments))
    print(f"{arguments.folder} holds the encoder and its head in the backbone's published layout.")
    return 0
