"""Audits for benchrunner: flags for anybody's prediction files, also for folders of many."""

from __future__ import annotations

from benchrunner import Commands, hookimpl


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "flag prediction files, whoever wrote them: constant answers, no better than majority, copies"
    cli.add_parser("audit", help=about, module="benchrunner_audit.audit_command")
