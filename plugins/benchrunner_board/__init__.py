"""Boards for benchrunner: a static site from shared results, each of which is verified."""

from __future__ import annotations

from benchrunner import Commands, hookimpl


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "build the site of a board of your own from shared folders, each of which is verified"
    cli.add_parser("board", help=about, module="benchrunner_board.board_command")
