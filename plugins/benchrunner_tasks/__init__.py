"""What tasks of several plugins share: tables in files and on the hub, metrics, and checks of data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner import Commands, hookimpl, named_by_stub

if TYPE_CHECKING:
    from benchrunner import Rows, Task

__getattr__, __all__ = named_by_stub(__name__, __file__)
LARGE = 0.01
"""Share of a split's rows from which studies note that they are doubtful."""


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "say which tasks have their data here, and what is wrong with it; download what is missing"
    cli.add_parser("data", group="look", help=about, module="benchrunner_tasks.data.data_command")


@hookimpl
def describe_rows(task: Task, split: str, rows: Rows, train: Rows) -> Iterator[str]:
    """Say which rows stand in train, and other faults of a split and of the training rows."""
    from benchrunner_tasks.data.training_texts import TrainingTexts

    if not task.folds and not task.only_scored:  # of folds, other fits learn from the rows that are answered
        texts = TrainingTexts(task, train)
        yield from texts.remarks(split, rows, LARGE)
        yield from texts.remarks(task.train, train, LARGE)
