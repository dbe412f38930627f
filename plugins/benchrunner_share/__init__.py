"""Sharing for benchrunner: a study as a folder that anybody verifies, with metadata for model cards."""

from __future__ import annotations

from benchrunner import Commands, hookimpl


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "write a kept study to a folder that anybody verifies, with metadata for model cards; upload it if asked"
    cli.add_parser("share", help=about, module="benchrunner_share.share_command")
    about = "compute every score of a shared folder again from its answers and your data; say what differs"
    cli.add_parser("verify", help=about, module="benchrunner_share.verify_command")
