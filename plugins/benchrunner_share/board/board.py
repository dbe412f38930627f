"""What the site of a board shows: its systems and tasks, their result, and the names of their pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import final

from benchrunner import Task
from benchrunner.results import Result
from benchrunner_share.board.joining import Entry
from benchrunner_share.board.receiving import Accepted, Refused
from benchrunner_share.documents.contents import README
from benchrunner_share.documents.derived_files import derived_files, file_names


@final
@dataclass(frozen=True)
class Board:
    """Everything that a site shows."""

    title: str
    with_rows: bool
    tasks: tuple[Task, ...]
    entries: tuple[Entry, ...]
    result: Result
    """The systems with scores of all tasks, which are ranked."""
    partial: Result | None
    """The other systems; None if there are none."""
    folders: tuple[Accepted, ...]
    refused: tuple[Refused, ...]

    @cached_property
    def pages(self) -> Mapping[str, str]:
        """System -> name of its page."""
        return file_names((entry.name for entry in self.entries), "systems/{}.html")

    @cached_property
    def task_pages(self) -> Mapping[str, str]:
        """Task -> name of its page."""
        return file_names((task.name for task in self.tasks), "tasks/{}.html")

    @cached_property
    def homes(self) -> Mapping[str, str]:
        """Shared folder -> the folder of the site with its metadata."""
        return file_names((folder.name for folder in self.folders), "metadata/{}")

    @cached_property
    def metadata(self) -> Mapping[str, Mapping[str, str]]:
        """Shared folder -> its files of metadata, which the verification has compared: name on the site -> text."""
        files = {}
        for folder in self.folders:
            derived = dict(derived_files(folder.study.content))
            del derived[README]
            home = self.homes[folder.name]
            files[folder.name] = {f"{home}/{name}": text for name, text in derived.items()}
        return files
