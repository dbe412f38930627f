"""Calibration for benchrunner: whether systems are right as often as their probabilities of labels say."""

from __future__ import annotations

from benchrunner import Commands, hookimpl


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "show for a kept study, or finished runs, whether systems are right as often as their probabilities say"
    cli.add_parser("calibration", help=about, module="benchrunner_calibration.calibration_command")
