"""SNLI: its two kinds of files and its data set on the hub give the same pairs, those with a majority label."""

import json
from pathlib import Path

import pytest
from datasets import ClassLabel, Dataset, Features, Value

from benchrunner import Workspace
from benchrunner_glue.snli import LABELS, SNLI

PAIRS = [
    ("A dog runs.", 'It is "quick".', "entailment"),
    ("A dog runs.", "It is mine.", "-"),
    ("Two men sit.", "Two men stand.", "contradiction"),
]
HEADER = "gold_label\tsentence1_parse\tsentence1\tsentence2\tpairID\tlabel1"


def write_jsonl(folder: Path) -> None:
    rows = [{"gold_label": label, "sentence1": a, "sentence2": b, "pairID": "1"} for a, b, label in PAIRS]
    (folder / "snli_1.0_dev.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def write_txt(folder: Path) -> None:
    lines = [f"{label}\t(ROOT)\t{a}\t{b}\t1\t{label}" for a, b, label in PAIRS]
    (folder / "snli_1.0_dev.txt").write_text("\n".join([HEADER, *lines]) + "\n")


@pytest.mark.parametrize("kind", ["jsonl", "txt", "hub"])
def test_pairs_without_a_majority_label_are_left_out(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "snli_1.0").mkdir()
    {"jsonl": write_jsonl, "txt": write_txt}.get(kind, lambda folder: None)(tmp_path / "snli_1.0")
    numbers = [LABELS.index(label) if label in LABELS else -1 for *_, label in PAIRS]
    columns = {"premise": [a for a, *_ in PAIRS], "hypothesis": [b for _, b, _ in PAIRS], "label": numbers}
    features = Features({"premise": Value("string"), "hypothesis": Value("string"), "label": ClassLabel(names=LABELS)})
    monkeypatch.setattr("datasets.load_dataset", lambda *words, **options: Dataset.from_dict(columns, features))
    rows = SNLI.load("dev", Workspace(tmp_path / "runs", tmp_path / "cache", tmp_path))
    assert [tuple(row.values()) for row in rows.table.to_pylist()] == [PAIRS[0], PAIRS[2]]
    assert any("left out 1 of 3 rows: without a majority label" in note for note in rows.notes)
