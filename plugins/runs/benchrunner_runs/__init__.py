"""Runs for benchrunner: what a runs folder holds, listed, shown, compared and removed."""

from __future__ import annotations

import argparse

from benchrunner import hookimpl


@hookimpl
def register_commands(cli: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    about = "list, show, compare and remove the fits in the runs folder"
    cli.add_parser("runs", help=about, module="benchrunner_runs.runs_command")
