"""Sharing for benchrunner: a study as a folder that anybody verifies, and boards of such folders."""

from __future__ import annotations

from benchrunner import Commands, hookimpl


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "write a kept study to a folder that anybody can verify"
    cli.add_parser("share", group="hand in", help=about, module="benchrunner_share.share_command")
    about = "find faults of a submission, a shared study or the data of a task file"
    cli.add_parser("check", group="hand in", help=about, module="benchrunner_share.check_command")
    about = "build the site of a board of your own from shared folders"
    cli.add_parser("board", group="hand in", help=about, module="benchrunner_share.board_command")
