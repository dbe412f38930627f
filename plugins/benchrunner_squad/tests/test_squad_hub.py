"""The hub and the files hold the same rows, with the same fingerprint."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

import forked
from benchrunner_squad import register_tasks
from hub_server import Hub

REPOSITORIES = {"v1.1": ("rajpurkar/squad", "plain_text"), "v2.0": ("rajpurkar/squad_v2", "squad_v2")}
SPLITS = {"train": "train", "dev": "validation"}
CARD = """---
configs:
- config_name: {name}
  data_files:
  - split: train
    path: {name}/train-*
  - split: validation
    path: {name}/validation-*
---
"""
CLIENT = """
import json, sys
from pathlib import Path
from benchrunner.workspace import Settings, Workspace
from benchrunner_squad import register_tasks
files = Path(sys.argv[1])
counted = Settings(official_counts=False)
here, hub = (Workspace(runs=files, cache=files, data=data, settings=counted) for data in (files, None))
results = {}
for task in register_tasks():
    for split in task.splits if task.demo_files else ():
        local, remote = task.load(split, here), task.load(split, hub)
        assert str(files) in local.origin and remote.origin.startswith("hub rajpurkar/squad")
        equal = [local.table.equals(remote.table), local.fingerprint == remote.fingerprint]
        results[f"{task.name} {split}"] = [len(local), *equal]
print(json.dumps(results))
"""


def on_hub(path: Path) -> pa.Table:
    """Make a table with the columns and types of the hub's data card from a file."""
    rows: list[dict[str, Any]] = []
    for article in json.loads(path.read_text())["data"]:
        for paragraph in article["paragraphs"]:
            for qa in paragraph["qas"]:
                answers = {"text": [answer["text"] for answer in qa["answers"]]}
                answers["answer_start"] = [answer["answer_start"] for answer in qa["answers"]]
                texts = {"title": article["title"], "context": paragraph["context"], "question": qa["question"]}
                rows.append({"id": qa["id"], **texts, "answers": answers})
    fields = [pa.field(name, pa.string()) for name in ("id", "title", "context", "question")]
    answers_type = pa.struct([("text", pa.list_(pa.string())), ("answer_start", pa.list_(pa.int32()))])
    return pa.Table.from_pylist(rows, pa.schema([*fields, pa.field("answers", answers_type)]))


def test_every_split_has_the_same_rows_on_the_hub(tmp_path: Path) -> None:
    for task in register_tasks():
        if task.demo_files is not None:
            task.demo_files(tmp_path / "files")
    for version, (repository, configuration) in REPOSITORIES.items():
        home = tmp_path / "hub" / "datasets" / repository
        (home / configuration).mkdir(parents=True)
        (home / "README.md").write_text(CARD.format(name=configuration))
        for split, name in SPLITS.items():
            table = on_hub(tmp_path / "files" / "squad" / f"{split}-{version}.json")
            parquet.write_table(table, home / configuration / f"{name}-00000-of-00001.parquet")
    with Hub(tmp_path / "hub") as hub:
        environment = {**os.environ, **hub.environment(tmp_path / "home")}
        arguments = ["-c", CLIENT, str(tmp_path / "files")]
        process = forked.run(arguments, env=environment)
    assert process.returncode == 0, process.stderr
    results = json.loads(process.stdout)
    assert list(results) == [f"squad/{version} {split}" for version in ("1.1", "2.0") for split in SPLITS]
    assert {name: equal for name, (_, *equal) in results.items()} == {name: [True, True] for name in results}
    assert all(rows >= 75 for rows, *_ in results.values())
