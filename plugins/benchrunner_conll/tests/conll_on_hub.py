"""Makes `eriktks/conll2003` as in the parquet branch on the hub, from column files in IOB2 or IOB1.

Written from the data set's card and script. Reads the files with its own code and shares none with the package.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet

NER = ("O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC", "B-MISC", "I-MISC")
"""Tags in the order of the card. The names of the other two columns are made from the files."""
FILES = {"train": "eng.train", "validation": "eng.testa", "test": "eng.testb"}


def build(files: Path, repository: Path) -> None:
    """Write a parquet file for each split where the hub's conversion puts it. The types are in the files; no card."""
    splits = {split: _sentences(files / name) for split, name in FILES.items()}
    names = {
        "pos_tags": sorted({row[1] for sentences in splits.values() for sentence in sentences for row in sentence}),
        "chunk_tags": sorted({row[2] for sentences in splits.values() for sentence in sentences for row in sentence}),
        "ner_tags": list(NER),
    }
    for split, sentences in splits.items():
        path = repository / "conll2003" / split / "0000.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(_table(sentences, names), path)


def _sentences(path: Path) -> list[list[list[str]]]:
    parts = path.read_text().split("\n\n")
    sentences = []
    for part in parts:
        rows = map(str.split, part.splitlines())
        sentences.append([row for row in rows if row[0] != "-DOCSTART-"])
    for sentence in sentences:
        for at, row in enumerate(sentence):
            before = sentence[at - 1][3] if at else "O"
            if row[3].startswith("I-") and before[2:] != row[3][2:]:
                row[3] = "B-" + row[3][2:]
    return [sentence for sentence in sentences if sentence]


def _table(sentences: list[list[list[str]]], names: dict[str, list[str]]) -> pa.Table:
    columns = {
        "id": pa.array([str(at) for at in range(len(sentences))]),
        "tokens": pa.array([next(zip(*sentence, strict=True)) for sentence in sentences]),
    }
    features: dict[str, object] = {
        "id": {"dtype": "string", "_type": "Value"},
        "tokens": {"feature": {"dtype": "string", "_type": "Value"}, "_type": "Sequence"},
    }
    for at, (name, known) in enumerate(names.items(), start=1):
        tags = [list(zip(*sentence, strict=True))[at] for sentence in sentences]
        columns[name] = pa.array([list(map(known.index, row)) for row in tags], pa.list_(pa.int64()))
        features[name] = {"feature": {"names": known, "_type": "ClassLabel"}, "_type": "Sequence"}
    return pa.table(columns).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
