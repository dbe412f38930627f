"""Audits for benchrunner: scores and flags of anybody's prediction files, also of folders of many."""

from __future__ import annotations

from benchrunner import Commands, hookimpl


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "score and flag prediction files, whoever wrote them"
    cli.add_parser("audit", group="look", help=about, module="benchrunner_audit.audit_command")
