"""The hub's rows are those of the files, but for the borders of documents, which the hub does not have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from conll_on_hub import build

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
found = {}
for split in task.splits:
    one, other = task.load(split, here), task.load(split, hub)
    assert other.origin.startswith("hub eriktks/conll2003 (")
    found[split] = [len(one), other.table.equals(one.table.drop_columns(["document"]))]
print(json.dumps(found))
"""


def test_every_split_is_the_same_from_files_and_from_the_hub_but_for_documents(tmp_path: Path) -> None:
    demo.write(5, tmp_path / "files")
    build(tmp_path / "files" / demo.FOLDER, tmp_path / "hub" / "datasets" / "eriktks" / "conll2003")
    with Hub(tmp_path / "hub") as hub:
        environment = {**os.environ, **hub.environment(tmp_path / "home")}
        command = [sys.executable, "-c", CLIENT, str(tmp_path / "files")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280, check=False)
        assert any("refs%2Fconvert%2Fparquet" in request for request in hub.requests)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found) == list(CONLL2003.files)
    assert all(rows >= 60 and same for rows, same in found.values())
