"""Plugins are asked for remarks on a split once, and only where the training rows are here."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from benchrunner import DataNotFound, Rows, Task
from benchrunner.tasks.row_remarks import RowRemarks
from inline import mood

ROWS = Rows(pa.table({"a": ["sun"]}), "somewhere", notes=("read",))


def test_plugins_are_asked_once_for_a_split() -> None:
    asked = []

    def hook(**arguments: Any) -> list[list[str]]:
        asked.append(arguments["split"])
        return [["few rows"], []]

    remarks = RowRemarks(hook, lambda task, split: ROWS)
    assert [remarks.noted(mood(), split, ROWS).notes for split in ("dev", "test", "dev")] == 3 * [("read", "few rows")]
    assert asked == ["dev", "test"]


def test_without_training_rows_nothing_is_asked() -> None:
    def load(task: Task, split: str) -> Rows:
        raise DataNotFound(split)

    assert RowRemarks(lambda **arguments: 1 / 0, load).noted(mood(), "dev", ROWS) == ROWS
