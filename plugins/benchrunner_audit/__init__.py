"""Audits for benchrunner: scores and flags of anybody's prediction files, also of folders of many."""

from __future__ import annotations

from benchrunner import Commands, hookimpl


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "score prediction files of any system by the official rules, and flag constant answers and copies"
    cli.add_parser("audit", help=about, module="benchrunner_audit.audit_command")
