"""CSV files with the official files' quirks, bad files, and the hub's rows."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import yaml

from benchrunner import DataError, Rows, Workspace
from benchrunner_swag import SWAG
from hub_tables import answer_from

HEAD = ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3"
START = "0,anetv_1,7,x,He sits.,He"


def load(folder: Path, content: str, *, split: str = "dev", path: str = "swag/val.csv") -> Rows:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content.encode())
    return SWAG.load(split, Workspace(runs=folder / "runs", cache=folder / "cache", data=folder))


def test_a_choice_joins_the_second_sentence_start_and_an_ending(tmp_path: Path) -> None:
    rows = load(tmp_path, f"{HEAD},label\n{START},gold,runs.,eats.,falls.,reads.,2\n")
    choices = ["He runs.", "He eats.", "He falls.", "He reads."]
    assert rows.table.to_pylist() == [{"a": "He sits.", "choices": choices, "label": 2}]


def test_an_empty_second_sentence_start_leaves_the_endings_alone(tmp_path: Path) -> None:
    rows = load(tmp_path, f"{HEAD},label\n0,anetv_1,7,x,He sits.,,gold,Runs.,Eats.,Falls.,Reads.,0\n")
    assert rows.table.column("choices").to_pylist() == [["Runs.", "Eats.", "Falls.", "Reads."]]


def test_quoted_fields_may_have_commas_quotes_and_line_ends(tmp_path: Path) -> None:
    quirks = '"runs, then\nfalls","says ""well""",eats,"\r\n'
    content = f'{HEAD},label\r\n{START},gold,{quirks}reads, too.",1\r\n1,v,7,x,She sits.,She,gold,a,b,c,d,3\r\n'
    rows = load(tmp_path, content)
    first, second = rows.table.to_pylist()
    assert first["choices"] == ["He runs, then\nfalls", 'He says "well"', "He eats", "He \r\nreads, too."]
    assert (first["label"], second["a"], second["label"]) == (1, "She sits.", 3)
    assert rows.lines == [2, 5] and rows.where(1).endswith("val.csv:5")


def test_a_quotation_mark_inside_an_unquoted_field_is_text(tmp_path: Path) -> None:
    rows = load(tmp_path, f"{HEAD},label\n{START},gold,stands 5' 6\" tall,b,c,d,0\n")
    assert rows.table.column("choices").to_pylist()[0][0] == "He stands 5' 6\" tall"


def test_a_test_file_has_no_labels(tmp_path: Path) -> None:
    rows = load(tmp_path, f"{HEAD}\n{START},gold,a,b,c,d\n", split="test", path="swag/test.csv")
    assert rows.table.column_names == ["a", "choices"]


@pytest.mark.parametrize("path", ["val.csv", "swag/val.csv", "SWAG/val.csv", "swagaf/data/val.csv", "data/val.csv"])
def test_the_known_folders_are_searched(tmp_path: Path, path: str) -> None:
    assert len(load(tmp_path, f"{HEAD},label\n{START},gold,a,b,c,d,0\n", path=path)) == 1


def test_a_users_own_questions_need_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(f"{HEAD}\n{START},gold,a,b,c,d\n")
    source = SWAG.splits["dev"].sources[0].at(path)
    assert source is not None
    rows = source.unlabelled(("label",)).read(Workspace(runs=tmp_path, cache=tmp_path))
    assert SWAG.problem.check(rows, labelled=False).column("choices").to_pylist() == [["He a", "He b", "He c", "He d"]]


FAULTS = {
    "empty": ("", "val.csv:1: the file is empty; a header line was expected"),
    "no label": (f"{HEAD}\n{START},gold,a,b,c,d\n", "val.csv:1: no column 'label' in the header"),
    "ragged": (f"{HEAD},label\n{START},gold,a,b,c,0\n", "val.csv:2: expected 12 columns, found 11"),
    "open quote": (f'{HEAD},label\n{START},gold,"a,b,c,d,0\n', "val.csv:2: not valid CSV: unexpected end of data"),
    "after a quote": (f'{HEAD},label\n{START},gold,"a"b,b,c,d,0\n', "val.csv:2: not valid CSV: ',' expected after"),
    "label out of range": (f"{HEAD},label\n{START},gold,a,b,c,d,4\n", "val.csv:2: label '4' is not a whole number"),
    "label with decimals": (f"{HEAD},label\n{START},gold,a,b,c,d,2.0\n", "val.csv:2: label '2.0' is not a whole"),
}


@pytest.mark.parametrize(("content", "message"), FAULTS.values(), ids=FAULTS)
def test_a_bad_file_is_an_error_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        load(tmp_path, content)


NAMES = {"train": "train", "val": "validation", "test": "test"}
TEXTS = ("video-id", "fold-ind", "startphrase", "sent1", "sent2", "gold-source", *(f"ending{n}" for n in range(4)))


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
def test_every_split_has_the_same_rows_on_the_hub(tmp_path: Path, label: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SWAG.demo_files is not None
    SWAG.demo_files(tmp_path / "files")
    build(tmp_path / "files" / "swag", tmp_path / "hub" / "allenai" / "swag", label)
    answer_from(tmp_path / "hub", monkeypatch)
    here, hub = (Workspace(runs=tmp_path, cache=tmp_path, data=data) for data in (tmp_path / "files", None))
    for split, rows in {"train": 220, "dev": 80, "test": 60}.items():
        local, remote = SWAG.load(split, here), SWAG.load(split, hub)
        assert str(tmp_path / "files") in local.origin and remote.origin.startswith("hub allenai/swag (regular")
        assert local.table.equals(remote.table) and local.fingerprint == remote.fingerprint, split
        assert len(local) == rows
