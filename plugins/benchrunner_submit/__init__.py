"""Submissions for benchrunner: the files that leaderboards take, written, checked and scored."""

from __future__ import annotations

from benchrunner import Commands, hookimpl, named_by_stub

__getattr__, __all__ = named_by_stub(__name__, __file__)


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "fit what is missing, answer every test file, write the archive"
    cli.add_parser("submit", group="start", help=about, module="benchrunner_submit.submit_command")
    about = "answer a file or a split with one or several finished fits"
    cli.add_parser("predict", group="hand in", help=about, module="benchrunner_submit.predict_command")
