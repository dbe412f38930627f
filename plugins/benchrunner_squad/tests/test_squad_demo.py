"""The demo data: the official layout, and a task that can be learned."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchrunner import Workspace
from benchrunner.workspace import Settings
from benchrunner_kit.testing import check_task
from benchrunner_squad import register_tasks

TASKS = {task.name: task for task in register_tasks() if task.demo_files is not None}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
def test_the_task_keeps_its_contract(tmp_path: Path, task) -> None:  # type: ignore[no-untyped-def]
    check_task(task, tmp_path)


def test_the_demo_has_articles_of_triviaqa_that_name_the_answer(tmp_path: Path) -> None:
    TASKS["squad/1.1"].demo_files(tmp_path)  # type: ignore[misc]
    trivia = {task.name: task for task in register_tasks()}["triviaqa/wiki"]
    workspace = Workspace(tmp_path, tmp_path, data=tmp_path, settings=Settings(offline=True))
    for split, count in (("train", 60), ("dev", 15)):
        rows = trivia.load(split, workspace)
        assert len(rows) == count and rows.notes == ()
        for row in rows.table.to_pylist():
            (answer,), (start,) = row["answers"], row["starts"]
            assert row["context"][start:].startswith(answer)
