"""A user's own questions to a task of a task file: plain lines, words and tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mood_file import TASK

from benchrunner import Workspace
from benchrunner.results import Plugins
from benchrunner.tasks.user_files import read_questions


def test_a_task_file_has_plain_lines(
    task_file: Callable[..., Path], plugins: Plugins, workspace: Workspace, tmp_path: Path
) -> None:
    task = plugins.tasks.find(str(task_file(TASK)))
    (tmp_path / "mine").write_text("Sunny.\n\nBleak, and\tcold.\n")
    rows = read_questions(task, tmp_path / "mine", workspace, lines=True)
    assert rows.table.column("a").to_pylist() == ["Sunny.", "Bleak, and\tcold."]
