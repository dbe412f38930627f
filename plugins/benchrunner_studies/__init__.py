"""Study files for benchrunner: comparisons as TOML files, with parameters and scales; and what a study would run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from benchrunner import hookimpl

if TYPE_CHECKING:
    from benchrunner.results import Runner, Study, StudyOptions


@hookimpl
def read_study(
    name: str,
    runner: Runner,
    parameters: Mapping[str, str],
    scale: str | None,
    systems: Sequence[str] | None,
    columns: Sequence[str] | None,
    options: StudyOptions,
) -> Study:
    from benchrunner_studies.settling import study_of_file

    return study_of_file(
        name, runner, parameters=parameters, scale=scale, systems=systems, columns=columns, options=options
    )


@hookimpl
def plan_study(study: Study, runner: Runner, as_json: bool) -> None:
    from benchrunner_studies.dry_run import dry_run_study
    from benchrunner_studies.dry_run_table import print_plan

    print_plan(dry_run_study(study, runner), is_json=as_json)


@hookimpl
def prepare_study(study: Study, runner: Runner) -> Callable[[bool], None] | None:
    from benchrunner_studies.system_commands import prepared

    return prepared(study, runner)
