"""What `run` and `compare` share: a dry run of their study, or the study itself."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from benchrunner.command_line.output import print_dry_run, reserved_for_json

if TYPE_CHECKING:
    from benchrunner.fits.executor import Executor
    from benchrunner.runs.runner import Runner
    from benchrunner.studies.result import Result
    from benchrunner.studies.study import Study


def print_plan(study: Study, runner: Runner, arguments: argparse.Namespace) -> int:
    """Print what a study would run; return the exit code."""
    from benchrunner.studies.dry_run import dry_run_study
    from benchrunner.studies.until_clear import check_looks

    check_looks(study, arguments.budget)
    jobs = arguments.jobs if arguments.executor in (None, "local") else 1  # unknown for other executors
    return print_dry_run(dry_run_study(study, runner, jobs=jobs), as_json=arguments.json)


def finished_study(
    study: Study, runner: Runner, executor: Executor | None, arguments: argparse.Namespace, *, reserved: bool
) -> Result:
    """Run the fits that are missing and return the result; `reserved` keeps standard output free of other text."""
    from benchrunner.studies.study_run import run_study

    with reserved_for_json(reserved):
        return run_study(
            study,
            runner,
            executor=executor,
            show_progress=not arguments.quiet,
            keep_as=arguments.name,
            command=arguments.words,
            with_costs=arguments.cost,
            budget=arguments.budget,
        )
