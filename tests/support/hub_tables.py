"""Data sets in the hub's layout that this process reads from a folder, without the hub's interface and its client.

That tables come the whole way from a hub is tested once, in `tests/data/test_sources.py`, with a server.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import yaml


def answer_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `datasets.load_dataset` read OWNER/NAME below a folder, as the card of the data set describes it."""
    import datasets

    def load(name: str, configuration: str | None, *, split: str, revision: str | None) -> datasets.Dataset:
        repository = folder / name
        _, card, _ = (repository / "README.md").read_text(encoding="utf-8").split("---\n", 2)
        front = yaml.safe_load(card)
        config = _named(front["configs"], "config_name", configuration)
        info = _named(front["dataset_info"], "config_name", configuration)
        paths = sorted(repository.glob(_named(config["data_files"], "split", split)["path"]))
        table = pa.concat_tables(map(parquet.read_table, paths))
        features = datasets.Features._from_yaml_list(info["features"])
        return datasets.Dataset(table.cast(features.arrow_schema), info=datasets.DatasetInfo(features=features))

    monkeypatch.setattr(datasets, "load_dataset", load)


def _named(entries: list[dict[str, Any]], key: str, name: str | None) -> dict[str, Any]:
    """Return the only entry with a name under a key."""
    [entry] = [entry for entry in entries if entry[key] == name]
    return entry
