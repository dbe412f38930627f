"""Answers of systems that ran elsewhere: compared as fits are, scored and flagged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner import Commands, hookimpl, named_by_stub

if TYPE_CHECKING:
    from benchrunner.engine import BackboneFamily, Method
    from benchrunner.results import Plugins
    from benchrunner_answers.logs import Log

__getattr__, __all__ = named_by_stub(__name__, __file__)


@hookimpl
def register_backbones() -> Iterator[BackboneFamily]:
    from benchrunner_answers.answer_files import AnswerFolders

    yield AnswerFolders()


@hookimpl
def register_methods() -> Iterator[Method]:
    from benchrunner_answers.answer_files import Given

    yield Given()


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "score and flag prediction files, whoever wrote them"
    cli.add_parser("audit", group="look", help=about, module="benchrunner_answers.audit_command")


@hookimpl(tryfirst=True)
def read_value(kind: str, name: str, plugins: Plugins) -> Any:
    """Read the task whose rows a log scores."""
    if kind != "task":
        return None
    from benchrunner_answers.logs import task_of_log

    return task_of_log(name, plugins)


@hookimpl
def read_answers(path: Path) -> Log | None:
    from benchrunner_answers.programs import read_log

    return read_log(path)
