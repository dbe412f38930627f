"""Readers of the files of installed tasks, which begin with the tasks' own demo data."""

import contextlib
import functools
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchrunner import Workspace
from benchrunner.data.sources import DataNotFound
from benchrunner.results import Plugins, discover
from benchrunner.tasks.task import Task
from benchrunner.workspace import Settings
from benchrunner_submit import rows_of
from readers.reader import NOWHERE, Reader


@functools.cache
def installed() -> Plugins:
    return discover()


def tasks() -> Iterator[tuple[str, Reader]]:
    """Readers of the files of every installed task, which begin with the task's own demo data."""
    with demo_data() as workspace:
        for name, task in installed().tasks.items():
            if task.demo_files is None:
                continue
            task.demo_files(workspace.data)
            for split in ("train", *task.named("dev")[:1], *task.named("test")[:1]):
                try:
                    origin = Path(task.load(split, workspace).origin)
                except (DataNotFound, KeyError):  # the demo has no such split
                    continue
                if origin.is_dir():  # a data set of several files in one layout
                    origin = min(origin.iterdir())
                if not origin.is_file() or origin.parent.name == "qrels":  # a function gives rows, or files a corpus
                    continue
                content = origin.read_bytes()
                beginning = b"".join(content.splitlines(keepends=True)[:12])
                seed = content if origin.suffix in (".json", ".csv") else beginning
                yield f"{name} {split}", Reader(functools.partial(of_task, task, split), origin.name, [seed])


@contextlib.contextmanager
def demo_data() -> Iterator[Workspace]:
    """Give a workspace for demo data that is there while its files are read."""
    with tempfile.TemporaryDirectory() as folder:
        yield Workspace(Path(folder, "runs"), Path(folder, "cache"), Path(folder, "data"), Settings(offline=True))


def of_task(task: Task, split: str, path: Path) -> object:
    rows_of(task, split, path, NOWHERE)
    return None
