"""Submissions for benchrunner: the files that leaderboards take, written, checked and scored."""

from __future__ import annotations

from benchrunner import Commands, hookimpl, named_by_stub

__getattr__, __all__ = named_by_stub(__name__, __file__)


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "fit what is not fitted, answer every test file, write the submission"
    cli.add_parser("submit", help=about, module="benchrunner_submit.submit_command")
    about = "answer a file or a split with a finished fit, or with several together"
    cli.add_parser("predict", help=about, module="benchrunner_submit.predict_command")
