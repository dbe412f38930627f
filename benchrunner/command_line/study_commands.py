"""What commands that run a study share: its output options, a dry run of the study, or the study itself."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from benchrunner.command_line import options
from benchrunner.command_line.output import DONE, FORMATS, OWN_FORMATS, print_result
from benchrunner.errors import RequestError

if TYPE_CHECKING:
    from benchrunner.fits.executor import Executor
    from benchrunner.runs.runner import Runner
    from benchrunner.studies.result import Result
    from benchrunner.studies.study import Study

MOST_WITH_INTERVALS = 4
"""Number of rows up to which a table has intervals, so that a table of many systems fits on a screen."""


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how the result of a study is printed; `check_output` must be called first."""
    shown = parser.add_argument_group("output")
    shown.add_argument(
        "--format",
        choices=FORMATS,
        metavar="NAME",
        help="table, markdown, latex, html, csv or json; csv has fractions, json everything",
    )
    add_notes_and_json(parser)
    shown.add_argument(
        "--long", action="store_true", help="a row for each system, task, split and metric, with fractions"
    )
    shown.add_argument(
        "--metrics",
        choices=("headline", "all"),
        help="metrics of each task in a table of three or more systems: headline (default) or all",
    )
    shown.add_argument(
        "--intervals",
        action=argparse.BooleanOptionalAction,
        help=f"show intervals of 95 %% (default: in tables of {MOST_WITH_INTERVALS} systems at most)",
    )
    shown.add_argument("--run-ids", action="store_true", help="list the ids of the fits below the table")


def add_notes_and_json(parser: argparse.ArgumentParser) -> None:
    """Add `--notes`, and `--json`, which is short for `--format json`."""
    parser.add_argument(
        "--notes",
        action="store_const",
        const="",
        default="--notes",
        help="print all notes below the table, not five lines",
    )
    options.add_json(parser, "format", "json")
    parser.set_defaults(format="table")


def check_output(arguments: argparse.Namespace) -> None:
    """Raise a `RequestError` for a name or a format that is not possible; a dry run asks no hub."""
    from benchrunner.studies.kept.keeper import check_name

    if arguments.name is not None:
        check_name(arguments.name)
    check_format(arguments)
    if arguments.dry_run:
        if arguments.format not in ("table", "json"):
            raise RequestError(f"--dry-run prints a table or JSON: leave out --format {arguments.format}.")
        arguments.offline = True  # a download would not be a dry run


def check_format(arguments: argparse.Namespace) -> None:
    """Raise a `RequestError` for a format that nobody writes."""
    from benchrunner.studies.comparison.formats import no_writer

    arguments.json = arguments.format == "json"
    if arguments.format not in OWN_FORMATS and not arguments.plugins.hook.write_table.get_hookimpls():
        raise no_writer(arguments.format)


def planned_or_printed(study: Study, runner: Runner, executor: Executor | None, arguments: argparse.Namespace) -> int:
    """Print what a study would run, or run it and print its result; return the exit code."""
    options.published(arguments)  # refuses an unknown system before hours of fits
    if arguments.dry_run:
        return print_plan(study, runner, arguments)
    return print_shown(finished_study(study, runner, executor, arguments), arguments)


def print_shown(result: Result, arguments: argparse.Namespace) -> int:
    """Print the result of a kept study as the options of `add_output` say; return the exit code."""
    import shlex

    from benchrunner.studies.comparison.layout import NOTHING_PUBLISHED
    from benchrunner.studies.comparison.table import Shown

    study = result.study
    published = NOTHING_PUBLISHED if study.name else options.published(arguments, study.backbones)
    intervals = arguments.intervals
    if intervals is None:
        intervals = len(study.lines or study.names) <= MOST_WITH_INTERVALS
    place = f" --runs {shlex.quote(str(arguments.runs))}" if arguments.runs else ""
    return print_result(
        result,
        published,
        form=arguments.format,
        shown=Shown(arguments.metrics == "all", intervals, arguments.run_ids),
        long=arguments.long,
        notes_by=arguments.notes,
        then=f"next: benchrunner report{place}" if "report" in arguments.commands else "kept as the study",
    )


def print_plan(study: Study, runner: Runner, arguments: argparse.Namespace) -> int:
    """Let a plugin print what a study would run; return the exit code."""
    from benchrunner.studies.planning import search_of

    search_of(runner.plugins).chooser(study, runner, arguments.limit)  # refuses what cannot be
    plan = runner.plugins.hook.plan_study
    if not plan.get_hookimpls():
        raise RequestError("No plugin plans studies (--dry-run): the plugin 'studies' does.")
    plan(study=study, runner=runner, as_json=arguments.json)
    return DONE


def finished_study(study: Study, runner: Runner, executor: Executor | None, arguments: argparse.Namespace) -> Result:
    """Run the fits that are missing and return the result."""
    from benchrunner.studies.study_run import run_study

    return run_study(
        study,
        runner,
        executor=executor,
        show_progress=not arguments.quiet,
        keep_as=arguments.name,
        command=arguments.words,
        with_costs=arguments.cost,
        limit=arguments.limit,
    )
