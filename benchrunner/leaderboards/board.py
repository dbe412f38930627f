"""What the core knows of a leaderboard: its name, and the results that it lists."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from benchrunner.leaderboards.published import PublishedColumn, PublishedFigure, PublishedRow

if TYPE_CHECKING:
    from rich.console import RenderableType

    from benchrunner.tasks.task import Task


class Board(ABC):
    """A place that lists published results. The plugin submit has leaderboards, which may take files of answers."""

    name: str
    """Short name in lower case, as the user types it."""
    title: str
    url: str
    columns: Mapping[str, PublishedColumn]
    """Column of the published results -> what the column measures."""
    published: tuple[PublishedRow, ...]
    note: str
    """What a user should know before a submission, in whole sentences."""
    origin: str
    """File that describes the leaderboard, for messages."""

    @property
    @abstractmethod
    def wanted(self) -> tuple[tuple[str, str], ...]:
        """The tasks and splits whose answers make a whole submission, in the order of the files."""

    @abstractmethod
    def check_tasks(self, tasks: Mapping[str, Task], offered: Collection[str]) -> None:
        """Raise a `PluginError` that names file or column, and key, if they do not agree with the tasks.

        `offered` are the names of all tasks that plugins offer, also of tasks that cannot be used. Files and columns of
        tasks whose whole suite is offered by no plugin are left alone: its plugin is not installed.
        """

    @abstractmethod
    def tables(self) -> Iterator[tuple[str, RenderableType, Sequence[str]]]:
        """Yield the tables of the published results, each with its title and the notes below it."""

    @property
    def figures(self) -> Iterator[PublishedFigure]:
        """Every published figure, row by row."""
        for row in self.published:
            for column in row.cells:
                yield PublishedFigure(self.name, column, self.columns[column], row)
