"""Calibration for benchrunner: whether systems are right as often as their probabilities of labels say."""

from __future__ import annotations

from benchrunner import Commands, hookimpl


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "show how far probabilities of answers can be trusted"
    cli.add_parser("calibration", group="look", help=about, module="benchrunner_calibration.calibration_command")
