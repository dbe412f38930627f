"""The sources in docs/plugins/sources.md read files as it stands there."""

import json
from pathlib import Path
from types import ModuleType

from benchrunner import Task, Workspace
from distributions import ROOT
from documents import blocks


def documented_task() -> Task:
    (code,) = [code for code in blocks("python", ROOT / "docs" / "plugins" / "sources.md") if "JsonTable(" in code]
    module = ModuleType("stories")
    exec(compile(code, "docs/plugins/sources.md", "exec", dont_inherit=True), module.__dict__)
    (task,) = module.register_tasks()
    assert isinstance(task, Task)
    return task


def test_the_documented_sources_read_their_files(tmp_path: Path) -> None:
    (tmp_path / "stories").mkdir()
    train = 'We slept.,"And woke, late.",He sang.,0\nShe ran.,Olé!,No.,-\nIt fell.,Up.,Down.,1\n'
    (tmp_path / "stories" / "train.csv").write_bytes(train.encode("latin-1"))
    row = {"story": "It rained.", "endings": {"first": "We got wet.", "second": "We swam."}, "right": 0}
    (tmp_path / "stories" / "dev.jsonl").write_text(json.dumps(row) + "\n")
    workspace, task = Workspace(tmp_path, tmp_path, data=tmp_path), documented_task()
    rows = task.load("train", workspace)
    assert rows.table.to_pylist() == [
        {"a": "We slept.", "choices": ["And woke, late.", "He sang."], "label": 0},
        {"a": "It fell.", "choices": ["Up.", "Down."], "label": 1},
    ]
    assert rows.notes == ("left out 1 of 3 rows: without a right ending",)
    assert task.load("dev", workspace).table.column("choices").to_pylist() == [["We got wet.", "We swam."]]
