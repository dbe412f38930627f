"""The hub's parquet files and the official TSV files hold the same rows."""

from __future__ import annotations

import json
import os
from pathlib import Path

from glue_on_hub import build

import forked
from benchrunner_glue import register_tasks
from hub_server import Hub

CLIENT = """
import json, sys
from pathlib import Path
from benchrunner.workspace import Workspace
from benchrunner_glue import register_tasks
files = Path(sys.argv[1])
here, hub = (Workspace(runs=files, cache=files, data=data) for data in (files, None))
results = {}
for task in register_tasks():
    for split in task.splits:
        local, remote = task.load(split, here), task.load(split, hub)
        assert str(files) in local.origin and remote.origin.startswith("hub nyu-mll/glue")
        equal = [local.table.equals(remote.table), local.fingerprint == remote.fingerprint]
        results[f"{task.name} {split}"] = [len(local), *equal]
print(json.dumps(results))
"""


def test_every_split_has_the_same_rows_on_the_hub(tmp_path: Path) -> None:
    tasks = list(register_tasks())
    for task in tasks:
        assert task.demo_files is not None
        task.demo_files(5, tmp_path / "files")
    build(tmp_path / "files", tmp_path / "hub" / "datasets" / "nyu-mll" / "glue")
    with Hub(tmp_path / "hub") as hub:
        environment = {**os.environ, **hub.environment(tmp_path / "home")}
        arguments = ["-c", CLIENT, str(tmp_path / "files")]
        process = forked.run(arguments, env=environment)
    assert process.returncode == 0, process.stderr
    results = json.loads(process.stdout)
    assert list(results) == [f"{task.name} {split}" for task in tasks for split in task.splits]
    assert {name: equal for name, (_, *equal) in results.items()} == {name: [True, True] for name in results}
    assert all(rows >= 100 for rows, *_ in results.values())
