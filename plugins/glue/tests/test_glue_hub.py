"""The hub's parquet files and the official TSV files are the same data, row by row."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from glue_on_hub import build

from benchrunner_glue import register_tasks
from hub_server import Hub

CLIENT = """
import json, sys
from pathlib import Path
from benchrunner.workspace import Workspace
from benchrunner_glue import register_tasks
files = Path(sys.argv[1])
here, hub = (Workspace(runs=files, cache=files, data=data) for data in (files, None))
found = {}
for task in register_tasks():
    for split in task.splits:
        one, other = task.load(split, here), task.load(split, hub)
        assert str(files) in one.origin and other.origin.startswith("hub nyu-mll/glue")
        found[f"{task.name} {split}"] = [len(one), one.table.equals(other.table), one.fingerprint == other.fingerprint]
print(json.dumps(found))
"""


def test_all_splits_are_the_same_from_files_and_from_the_hub(tmp_path: Path) -> None:
    tasks = list(register_tasks())
    for task in tasks:
        assert task.demo_files is not None
        task.demo_files(5, tmp_path / "files")
    build(tmp_path / "files", tmp_path / "hub" / "datasets" / "nyu-mll" / "glue")
    with Hub(tmp_path / "hub") as hub:
        environment = {**os.environ, **hub.environment(tmp_path / "home")}
        command = [sys.executable, "-c", CLIENT, str(tmp_path / "files")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found) == [f"{task.name} {split}" for task in tasks for split in task.splits]
    assert {name: same for name, (rows, *same) in found.items()} == {name: [True, True] for name in found}
    assert all(rows >= 100 for rows, *_ in found.values())
