"""Study files for benchrunner: comparisons as TOML files, with parameters and scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
