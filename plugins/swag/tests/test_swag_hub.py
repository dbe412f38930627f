"""The hub's parquet files and the CSV files hold the same rows."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import yaml

import forked
from benchrunner_swag import SWAG
from hub_server import Hub

NAMES = {"train": "train", "val": "validation", "test": "test"}
TEXTS = ("video-id", "fold-ind", "startphrase", "sent1", "sent2", "gold-source", *(f"ending{n}" for n in range(4)))
CLIENT = """
import json, sys
from pathlib import Path
from benchrunner.workspace import Workspace
from benchrunner_swag import SWAG
files = Path(sys.argv[1])
here, hub = (Workspace(runs=files, cache=files, data=data) for data in (files, None))
results = {}
for split in SWAG.splits:
    local, remote = SWAG.load(split, here), SWAG.load(split, hub)
    assert str(files) in local.origin and remote.origin.startswith("hub allenai/swag (regular")
    results[split] = [len(local), local.table.equals(remote.table), local.fingerprint == remote.fingerprint]
print(json.dumps(results))
"""


def build(files: Path, repository: Path, label: Any) -> None:
    """Make `allenai/swag` as its card describes it. The label of a test row is -1."""
    repository.mkdir(parents=True)
    for name, split in NAMES.items():
        with (files / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        columns: dict[str, Any] = pa.Table.from_pylist(rows).select(TEXTS).to_pydict()
        columns["label"] = pa.array([int(row.get("label", "-1")) for row in rows], pa.int64())
        parquet.write_table(pa.table(columns), repository / f"{split}.parquet")
    config = {
        "config_name": "regular",
        "data_files": [{"split": split, "path": f"{split}.parquet"} for split in NAMES.values()],
    }
    features = [*({"name": text, "dtype": "string"} for text in TEXTS), {"name": "label", "dtype": label}]
    card = {"configs": [config], "dataset_info": [{"config_name": "regular", "features": features}]}
    (repository / "README.md").write_text(f"---\n{yaml.safe_dump(card, sort_keys=False)}---\n", encoding="utf-8")


@pytest.mark.parametrize(
    "label",
    [{"class_label": {"names": {number: str(number) for number in range(4)}}}, "int64"],
    ids=["named labels", "plain numbers"],
)
def test_every_split_has_the_same_rows_on_the_hub(tmp_path: Path, label: Any) -> None:
    assert SWAG.demo_files is not None
    SWAG.demo_files(5, tmp_path / "files")
    build(tmp_path / "files" / "swag", tmp_path / "hub" / "datasets" / "allenai" / "swag", label)
    with Hub(tmp_path / "hub") as hub:
        environment = {**os.environ, **hub.environment(tmp_path / "home")}
        arguments = ["-c", CLIENT, str(tmp_path / "files")]
        process = forked.run(arguments, env=environment)
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout) == {"train": [220, True, True], "dev": [80, True, True], "test": [60, True, True]}
