"""Makes `nyu-mll/glue` as it is on the hub from the TSV files of the official layout.

`build` is written from the data set's card. It reads the files with the standard library and shares no code with the
package.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import yaml

from benchrunner_glue.table import tasks

LABELS = {
    "cola": ("unacceptable", "acceptable"),
    "sst2": ("negative", "positive"),
    "mrpc": ("not_equivalent", "equivalent"),
    "qqp": ("not_duplicate", "duplicate"),
    "mnli": ("entailment", "neutral", "contradiction"),
    "qnli": ("entailment", "not_entailment"),
    "rte": ("entailment", "not_entailment"),
    "wnli": ("not_entailment", "entailment"),
    "ax": ("entailment", "neutral", "contradiction"),
}
"""Names of the labels (class_label) in the order of the card; stsb has a float32 score."""
FOLDERS = {
    "cola": "CoLA",
    "sst2": "SST-2",
    "mrpc": "MRPC",
    "stsb": "STS-B",
    "qqp": "QQP",
    "mnli": "MNLI",
    "qnli": "QNLI",
    "rte": "RTE",
    "wnli": "WNLI",
    "ax": "diagnostic",
}
TEXTS = {
    "cola": {"sentence": "sentence"},
    "sst2": {"sentence": "sentence"},
    "mrpc": {"sentence1": "#1 String", "sentence2": "#2 String"},
    "qqp": {"question1": "question1", "question2": "question2"},
    "qnli": {"question": "question", "sentence": "sentence"},
}
"""Column on the hub -> column in the files. Other configurations have sentence1 and sentence2 in both."""
ANSWERS = {"mrpc": "Quality", "stsb": "score", "qqp": "is_duplicate", "mnli": "gold_label"}
SPLITS = {
    "mnli": ("train", "validation_matched", "validation_mismatched", "test_matched", "test_mismatched"),
    "ax": ("test",),
}


def written_demo(folder: Path) -> Path:
    """Write the demo files of all tasks."""
    for task in tasks():
        assert task.demo_files is not None
        task.demo_files(folder)
    return folder


def build(files: Path, repository: Path) -> None:
    """Write parquet files and the card of every task whose folder exists."""
    card: dict[str, list[Any]] = {"configs": [], "dataset_info": []}
    for name, folder in FOLDERS.items():
        if not (files / folder).is_dir():
            continue
        splits = SPLITS.get(name, ("train", "validation", "test"))
        for split in splits:
            stem = "diagnostic" if name == "ax" else split.replace("validation", "dev")
            table = _table(name, files / folder / f"{stem}.tsv")
            path = repository / name / f"{split}-00000-of-00001.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            parquet.write_table(table, path)
        data_files = [{"split": split, "path": f"{name}/{split}-*"} for split in splits]
        card["configs"].append({"config_name": name, "data_files": data_files})
        card["dataset_info"].append({"config_name": name, "features": list(_features(name))})
    (repository / "README.md").write_text(_front_matter(card), encoding="utf-8")


def _table(name: str, path: Path) -> pa.Table:
    """Make a table as on the hub. Rows with a missing value are left out, as the hub's own script did."""
    with path.open(encoding="utf-8-sig", newline="") as lines:
        head = ["source", "label", "star", "sentence"] if name == "cola" and path.stem != "test" else None
        records = list(csv.DictReader(lines, head, delimiter="\t", quoting=csv.QUOTE_NONE))
    texts, answer = _texts(name), ANSWERS.get(name, "label")
    read = (*texts.values(), answer)
    rows = [row for row in records if None not in map(row.get, read, [""] * len(read))]
    columns: dict[str, pa.Array] = {}
    for name_there, column in texts.items():
        columns[name_there] = pa.array([row[column] for row in rows])
    answers = [_number(name, row.get(answer)) for row in rows]
    columns["label"] = pa.array(answers, pa.float32() if name == "stsb" else pa.int64())
    columns["idx"] = pa.array(range(len(rows)), pa.int32())
    return pa.table(columns)


def _texts(name: str) -> dict[str, str]:
    return TEXTS.get(name, {"sentence1": "sentence1", "sentence2": "sentence2"})


def _number(name: str, answer: str | None) -> float | int:
    """Give a label's number. A hidden label of a test row is -1; those of MRPC are not hidden on the hub."""
    if answer is None:
        return 1 if name == "mrpc" else -1
    if name == "stsb":
        return float(answer)
    return int(answer) if answer.isdigit() else LABELS[name].index(answer)


def _features(name: str) -> Iterable[dict[str, Any]]:
    for column in _texts(name):
        yield {"name": column, "dtype": "string"}
    if name == "stsb":
        yield {"name": "label", "dtype": "float32"}
    else:
        yield {"name": "label", "dtype": {"class_label": {"names": dict(enumerate(LABELS[name]))}}}
    yield {"name": "idx", "dtype": "int32"}


def _front_matter(card: dict[str, Any]) -> str:
    return f"---\n{yaml.safe_dump(card, sort_keys=False)}---\n\n# GLUE\n"
