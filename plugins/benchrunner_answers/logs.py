"""What a plugin reads of a file of another program, with a score or an answer for each row, and tasks of such rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final

from benchrunner import DataError, Metric, Regress, Rows, Source, Split, Task, Workspace, json_files, some_names
from benchrunner.engine import first_line, write_json

if TYPE_CHECKING:
    from benchrunner.results import Plugins

SUITE = "logs/"
"""Begins the names of the tasks that are made of logs."""
ANSWER = "answer"
"""Key of answers in `Log.values`."""


class Entry(NamedTuple):
    """An answer in a file, or the score of one."""

    place: str
    """Where it stands, for messages."""
    row_id: str | None
    """The id of its row; None in a file whose answers are in the order of the rows."""
    text: str


@final
@dataclass(frozen=True)
class Log:
    """What the hook `read_answers` reads of a file."""

    task: str
    """Name of the task, as the file says it."""
    ids: Sequence[str]
    """What tells the rows apart, the same in the files of all systems."""
    values: Mapping[str, Sequence[Any]]
    """Name of a metric -> the score of each row; or "answer" -> the answer of each row, as text. The first metric is
    compared unless the user names another."""

    def entries(self, path: Path, metric: str) -> list[Entry]:
        """Return the scores of a metric, or the answers, with the ids of their rows."""
        name = ANSWER if ANSWER in self.values else metric
        if name not in self.values:
            raise DataError(f"{path}: there is no metric '{name}'; the rows have {some_names(list(self.values))}.")
        pairs = zip(self.ids, self.values[name], strict=True)
        return [Entry(f"{path}, row {row_id}", row_id, str(value)) for row_id, value in pairs]


def read_log(path: Path, plugins: Plugins) -> Log | None:
    """Return what a plugin reads of a file of another program; None for other files."""
    try:
        log: Log | None = plugins.hook.read_answers(path=path)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as a log: {type(error).__name__}: {first_line(error)}.") from None
    return log


@final
@dataclass(frozen=True)
class LoggedRows(Source):
    """The rows of a log, by their ids. The right answers are not known: the score of a row counts as it is."""

    path: str
    task: str
    ids: tuple[str, ...]
    metric: str
    is_share: bool
    """Whether all scores are from 0 to 1."""

    def where(self, workspace: Workspace) -> str:
        return self.path

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa

        return Rows(pa.table({"a": self.ids, "id": self.ids, "label": [0.0] * len(self.ids)}), self.path)


def task_of_log(name: str, plugins: Plugins) -> Task | None:
    """Return the task whose rows a log scores, PATH or PATH:METRIC, or one that was made before, by its name.

    None if there is no such file, or if it is no log. The rows are kept in the cache, where other processes find them.
    """
    place, _, metric = name.rpartition(":") if not Path(name).is_file() else (name, "", "")
    log = read_log(Path(place), plugins) if Path(place).is_file() else None
    if log is None or ANSWER in log.values:
        memory = _memory(name)
        return _task(json_files.read_json_object(memory)) if name.startswith(SUITE) and memory.is_file() else None
    metric = metric or next(iter(log.values), "score")
    values = [float(entry.text) for entry in log.entries(Path(place), metric)]
    is_share = all(0 <= value <= 1 for value in values)
    task = _task({"path": place, "task": log.task, "ids": log.ids, "metric": metric, "is_share": is_share})
    write_json(_memory(task.name), vars(task.splits["dev"].sources[0]))
    return task


def _task(facts: Mapping[str, Any]) -> Task:
    """Make the task of a log's rows from what is kept of them."""
    rows = LoggedRows(**{**facts, "ids": tuple(facts["ids"])})
    digest = hashlib.sha256(json.dumps({**facts, "path": ""}, sort_keys=True).encode()).hexdigest()
    name = rows.task.lower()
    metric = Metric.of_rows(
        rows.metric, _value, scale=100.0 if rows.is_share else 1.0, decimals=1 if rows.is_share else 3
    )
    return Task(
        name=f"{SUITE}{name}-{digest[:8]}",
        about=f"the rows of {Path(rows.path).name}",
        problem=Regress(0.0, 1.0),
        splits={"train": Split("train", (rows,)), "dev": Split("dev", (rows,))},
        metrics=(metric,),
        columns=("id",),
        only_scored=True,
        title=name,
    )


def _memory(name: str) -> Path:
    return Workspace.from_environment().cache / f"{name}.json"


def _value(gold: float, value: float) -> float:
    """Return the score of a row as the log has it."""
    return value
