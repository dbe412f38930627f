"""Sharing for benchrunner: a study as a folder that anybody verifies, and boards of such folders."""

from __future__ import annotations

from benchrunner import Commands, hookimpl


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "write a kept study to a folder that anybody verifies, with metadata for the hub; upload it if asked"
    cli.add_parser("share", help=about, module="benchrunner_share.share_command")
    about = "compute every score of a shared folder again from its answers and your data; say what differs"
    cli.add_parser("verify", help=about, module="benchrunner_share.verify_command")
    about = "build the site of a board of your own from shared folders, each of which is verified"
    cli.add_parser("board", help=about, module="benchrunner_share.board_command")
