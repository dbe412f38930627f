"""Sharing for benchrunner: a study as a folder that anybody verifies, and boards of such folders."""

from __future__ import annotations

from benchrunner import Commands, hookimpl


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "write a kept study to a folder that anybody verifies, with metadata for the hub; upload it if asked"
    cli.add_parser("share", help=about, module="benchrunner_share.share_command")
    about = "find every fault of a submission; verify a shared folder: compute its scores again from your data"
    cli.add_parser("check", help=about, module="benchrunner_share.check_command")
    about = "build the site of a board of your own from shared folders, each of which is verified"
    cli.add_parser("board", help=about, module="benchrunner_share.board_command")
