"""Compare backbones in one call from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchrunner.plugins.discovery import discover
from benchrunner.runs.runner import Runner
from benchrunner.studies.result import Result
from benchrunner.studies.study_options import StudyOptions
from benchrunner.studies.study_run import run_study
from benchrunner.workspace import Workspace


def compare(
    backbones: Sequence[str] | Mapping[str, str],
    tasks: Sequence[str],
    *,
    data: Path | str | None = None,
    runs: Path | str | None = None,
    **options: Any,
) -> Result:
    """Fit backbones, or backbones by the names of their systems, to tasks, and return the result of `run_study`.

    `data` and `runs` are the folders of data files and of fits, by default those of the environment. `options` are
    those of `StudyOptions` and of its recipe, such as `restarts=3`, `method=("probe",)` and `lr=(2e-5, 5e-5)`.
    """
    plugins = discover()
    runner = Runner(
        plugins, Workspace.from_environment(data=Path(data) if data else None, runs=Path(runs) if runs else None)
    )
    chosen = StudyOptions.named(options, {}, plugins)
    return run_study(chosen.study(backbones, plugins.tasks_of(tasks), runner), runner)
