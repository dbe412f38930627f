"""Cost for benchrunner: speed, memory and parameters of encoders, measured in turns and with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from benchrunner import Commands, hookimpl

if TYPE_CHECKING:
    from benchrunner import Workspace
    from benchrunner.results import Computing, Fit, Record, comparison


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "measure speed, memory and parameters of backbones here"
    cli.add_parser("speed", group="compare", help=about, module="benchrunner_speed.speed_command")


@hookimpl
def measure_costs(
    fits: Mapping[str, Sequence[Fit]],
    records: Mapping[str, Record],
    workspace: Workspace,
    computing: Computing,
    show_progress: bool,
) -> Sequence[comparison.Cost]:
    from benchrunner_speed.study_costs import costs_of_study

    return costs_of_study(fits, records, workspace, computing, show_progress=show_progress)
