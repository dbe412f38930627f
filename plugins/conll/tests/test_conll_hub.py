"""The hub has the rows of the files. Only the column `document` is missing there."""

from __future__ import annotations

import json
import os
from pathlib import Path

from conll_on_hub import build

import forked
from benchrunner_conll import CONLL2003, demo
from hub_server import Hub

CLIENT = """
import json, sys
from pathlib import Path
from benchrunner.workspace import Settings, Workspace
from benchrunner_conll import CONLL2003
files, task = Path(sys.argv[1]), CONLL2003.task()
counted = Settings(official_counts=False)
here, hub = (Workspace(runs=files, cache=files, data=data, settings=counted) for data in (files, None))
results = {}
for split in task.splits:
    from_files, from_hub = task.load(split, here), task.load(split, hub)
    assert from_hub.origin.startswith("hub eriktks/conll2003 (")
    results[split] = [len(from_files), from_hub.table.equals(from_files.table.drop_columns(["document"]))]
print(json.dumps(results))
"""


def test_every_split_has_the_same_rows_on_the_hub(tmp_path: Path) -> None:
    demo.write(5, tmp_path / "files")
    build(tmp_path / "files" / demo.FOLDER, tmp_path / "hub" / "datasets" / "eriktks" / "conll2003")
    with Hub(tmp_path / "hub") as hub:
        environment = {**os.environ, **hub.environment(tmp_path / "home")}
        arguments = ["-c", CLIENT, str(tmp_path / "files")]
        process = forked.run(arguments, env=environment)
        assert any("refs%2Fconvert%2Fparquet" in request for request in hub.requests)
    assert process.returncode == 0, process.stderr
    results = json.loads(process.stdout)
    assert list(results) == list(CONLL2003.files)
    assert all(rows >= 60 and equal for rows, equal in results.values())
