"""Options that several commands share, and the values that they stand for.

What only studies need is imported by the functions that use it: `list` starts without it.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner.console.printing import print_note
from benchrunner.errors import RequestError
from benchrunner.workspace import Workspace

if TYPE_CHECKING:
    from benchrunner.fits.executor import Executor
    from benchrunner.fits.fit import Fit
    from benchrunner.fits.progress import Event
    from benchrunner.leaderboards.published_choice import PublishedChoice
    from benchrunner.runs.runner import Runner
    from benchrunner.studies.result import Result
    from benchrunner.studies.study_options import StudyOptions
    from benchrunner.tasks.task import Task

BACKBONES = "a name of 'list backbones', a folder, a hub id, or run:ID of a finished fit; PLUGIN:B asks one plugin only"
"""Help on how to name a backbone."""


EVERYDAY = (
    "help help_all tasks method study backbone dry_run name cost lr epochs batch_size max_length limit_train set "
    "grid preset restarts folds jobs data device format notes ensemble of fill partial out"
)
"""Options of commands that run studies which `--help` shows. A parameter of a recipe that is not among them has no
option: `--set` sets it."""


def add_workspace(parser: argparse.ArgumentParser) -> None:
    """Add the options for folders and for reading data."""
    add_data(parser)
    parser.add_argument(
        "--runs", type=Path, metavar="DIR", help="folder in which fits are kept (BENCHRUNNER_RUNS, else ./runs)"
    )


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading data."""
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder of raw data files (BENCHRUNNER_DATA); asked before the hub"
    )
    parser.add_argument(
        "--leave-out-bad-rows",
        action="store_true",
        help="leave out rows that contradict themselves, for example with an answer that is not at its offset",
    )
    parser.add_argument("--offline", action="store_true", help="never ask the hub (HF_HUB_OFFLINE)")


def add_computing(parser: argparse.ArgumentParser) -> None:
    """Add the options for devices, progress, checkpoints and trusted code."""
    from benchrunner.fits.computing import Computing

    Computing.add_options(parser)
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument(
        "--trust-code",
        action="append",
        metavar="CODE",
        help="let checkpoints run the code of this folder, or of OWNER/NAME@COMMIT on the hub, in worker "
        "processes; give it several times for several. Trust only code that you have read",
    )


def add_json(parser: argparse.ArgumentParser, dest: str = "json", const: object = True) -> None:
    """Add the option --json; with --json, only `print_json` and `print_data` write to standard output."""
    parser.add_argument("--json", dest=dest, action="store_const", const=const, help="print the results as JSON")
    parser.set_defaults(reserves_output=True)


def add_published(parser: argparse.ArgumentParser) -> None:
    """Add the option for published figures beside ours."""
    parser.add_argument(
        "--published",
        metavar="A,B",
        help="systems whose published figures stand beside ours: names, all, or none (default: what leaderboards say)",
    )


def published(arguments: argparse.Namespace, backbones: Collection[str] = ()) -> PublishedChoice:
    """Choose the published figures that stand beside ours: by default also those of the compared backbones."""
    from benchrunner.leaderboards.published_choice import choose_published

    names = None if arguments.published is None else arguments.published.split(",")
    models = [name for _, name in map(arguments.plugins.backbone_search.split, backbones)]
    return choose_published(arguments.plugins.leaderboards.values(), names, backbones=models)


def add_kept_result(parser: argparse.ArgumentParser) -> None:
    """Add the words that name a kept study, or finished runs; `kept_result` reads it."""
    parser.add_argument(
        "study",
        nargs="+",
        metavar="STUDY",
        help="name of a kept study, or ids of finished runs, see 'benchrunner runs'",
    )


def kept_result(arguments: argparse.Namespace, runner: Runner) -> Result:
    """Read the kept study that one word names, or the result of the runs that the words name."""
    from benchrunner.studies.kept.kept_results import result_named

    return result_named(arguments.study, runner)


def add_study(parser: argparse.ArgumentParser) -> None:
    """Add the options of all commands that run a study, but for those of its output."""
    from benchrunner.studies.planning import search_of

    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="only list what would be run; with what is finished already, and an estimate of the work",
    )
    parser.add_argument("--name", help="name under which the study is kept; by default it is made of what is compared")
    parser.add_argument(
        "--cost",
        action="store_true",
        help="measure speed, memory and training of each system; on this machine",
    )
    parser.set_defaults(limit=None)
    if limit := search_of(parser.get_default("plugins")).limit:
        limit.add_to(parser)
    add_published(parser)
    parser.add_argument(
        "--split",
        metavar="A,B",
        help="test splits to answer besides all dev splits; scored if they have labels, and they never select",
    )
    add_recipe(parser)
    add_workspace(parser)
    add_computing(parser)


def splits(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Take the names of the test splits to answer from the option."""
    return tuple(dict.fromkeys(filter(None, (arguments.split or "").split(","))))


def add_recipe(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how fits are made, which of them are selected, and where they run."""
    from benchrunner.runs.local_executor import JOBS
    from benchrunner.studies.planning import search_of
    from benchrunner.studies.study_options import RECIPE_OPTIONS, StudyOptions

    plugins = parser.get_default("plugins")
    fits = parser.add_argument_group("how fits are made")
    by_name = parser.add_argument_group("parameters of a recipe, for --set NAME=VALUE")
    everyday = f"{EVERYDAY} {search_of(plugins).looks}".split()
    parser.set_defaults(everyday=everyday)
    for own in StudyOptions.declared(plugins).values():
        is_field = own.name in RECIPE_OPTIONS
        if is_field and own.name not in everyday:
            own.show_in(by_name)
        else:
            own.add_to(fits, several=is_field)
    fits.add_argument(
        "--set",
        nargs="+",
        action="extend",
        metavar="NAME=VALUE",
        help="set what 'list options' names, such as weight-decay=0; or a parameter of a method, such as lora.rank=4,8",
    )
    fits.add_argument("--executor", metavar="NAME", help="where fits run (default: local)")
    fits.add_argument(
        "--executor-option",
        action="append",
        metavar="NAME=VALUE",
        help="an option of the executor; give it several times for several options",
    )
    JOBS.add_to(fits)


def workspace(arguments: argparse.Namespace) -> Workspace:
    """Take the folders and the settings from the options and the environment."""
    given = Workspace.from_environment(data=arguments.data, runs=arguments.runs)
    if arguments.data is not None and not arguments.data.is_dir():
        raise RequestError(f"--data {arguments.data}: there is no such folder.")
    if given.runs.exists() and not (given.runs.is_dir() and os.access(given.runs, os.R_OK | os.X_OK)):
        raise RequestError(f"{given.runs}: fits are kept in a folder, and this is not a folder that can be read.")
    settings = dataclasses.replace(
        given.settings,
        offline=given.settings.offline or arguments.offline,
        leave_out_bad_rows=arguments.leave_out_bad_rows,
        trusted_code=getattr(arguments, "trust_code", None) or (),
    )
    if arguments.offline:
        os.environ["HF_HUB_OFFLINE"] = "1"  # the hub's own libraries read this when they are imported
    return dataclasses.replace(given, settings=settings)


def runner(arguments: argparse.Namespace) -> Runner:
    """Make the runner that the options describe."""
    from benchrunner.fits.computing import Computing
    from benchrunner.fits.progress import quiet_report
    from benchrunner.runs.runner import Runner

    return Runner(
        arguments.plugins,
        workspace(arguments),
        Computing(**Computing.given(arguments)),
        report=quiet_report if arguments.quiet else _print_note_of,
    )


def _print_note_of(fit: Fit, event: Event) -> None:
    """Print what a command without a bar of progress must say: that it waits, or fits again."""
    if event.kind in ("note", "waiting"):
        print_note(f"benchrunner: {event.text}")


def study_options(arguments: argparse.Namespace, *, study_file: bool = False) -> StudyOptions:
    """Take the options that say how fits are made. With `study_file`, what `--set` sets is for the file's reader."""
    from benchrunner.studies.study_options import StudyOptions

    declared = StudyOptions.declared(arguments.plugins)
    given = {name: value for name, value in vars(arguments).items() if name in declared and value is not None}
    return StudyOptions.named(given, {} if study_file else pairs(arguments.set, "--set"), arguments.plugins)


def pairs(given: Iterable[str] | None, option: str) -> dict[str, str]:
    """Return what an option of NAME=VALUE gives: names, and their values as texts."""
    from benchrunner.parameters.declared import name_value_pairs

    return name_value_pairs(given or (), option)


def executor(arguments: argparse.Namespace) -> Executor | None:
    """Make the executor that the options name; None if no option names one."""
    from benchrunner.runs.local_executor import chosen_executor

    chosen_options = pairs(arguments.executor_option, "--executor-option")
    if arguments.executor is None and not (arguments.jobs or chosen_options):
        return None
    return chosen_executor(arguments.plugins, arguments.executor, chosen_options, arguments.jobs)


def tasks(arguments: argparse.Namespace, names: Iterable[str]) -> list[Task]:
    """Find tasks by name; several names may be in one word, separated by commas."""
    return arguments.plugins.tasks_of(filter(None, ",".join(names).split(",")))  # type: ignore[no-any-return]
