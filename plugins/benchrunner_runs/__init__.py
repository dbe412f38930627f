"""Runs for benchrunner: what a runs folder holds, listed, shown, exported and removed."""

from __future__ import annotations

from benchrunner import Commands, hookimpl


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "list, show, export and remove the fits in the runs folder"
    cli.add_parser("runs", group="look", help=about, module="benchrunner_runs.runs_command")
