"""Reports for benchrunner: a study as one file of HTML that opens without a network."""

from __future__ import annotations

import argparse

from benchrunner import hookimpl


@hookimpl
def register_commands(cli: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    about = "write a kept study, or finished runs, as one file of HTML that opens without a network"
    cli.add_parser("report", help=about, module="benchrunner_report.report_command")
