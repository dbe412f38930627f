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
    about = "find every fault of a submission, whoever wrote it"
    cli.add_parser("check", help=about, module="benchrunner_submit.check_command")
    about = "score a prediction file against labelled rows, by the official rules"
    cli.add_parser("score", help=about, module="benchrunner_submit.score_command")
