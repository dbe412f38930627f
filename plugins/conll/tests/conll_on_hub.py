"""Makes `eriktks/conll2003` as its parquet branch stands on the hub, from column files in IOB2 or IOB1.

Written from the data set's card and script, with a reading of the files of its own: it shares no code with the reader
that it is there to check.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet

NER = ("O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC", "B-MISC", "I-MISC")
"""In the order of the card; the lists of the other two columns are made from the files."""
FILES = {"train": "eng.train", "validation": "eng.testa", "test": "eng.testb"}


def build(files: Path, repository: Path) -> None:
    """One parquet file a split, where the hub's own conversion puts it; types stand in the files, there is no card."""
    splits = {split: _sentences(files / name) for split, name in FILES.items()}
    names = {
        "pos_tags": sorted({row[1] for some in splits.values() for one in some for row in one}),
        "chunk_tags": sorted({row[2] for some in splits.values() for one in some for row in one}),
        "ner_tags": list(NER),
    }
    for split, sentences in splits.items():
        path = repository / "conll2003" / split / "0000.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(_table(sentences, names), path)


def _sentences(path: Path) -> list[list[list[str]]]:
    parts = path.read_text().split("\n\n")
    found = [[line.split() for line in part.splitlines()] for part in parts]
    found = [[row for row in one if row[0] != "-DOCSTART-"] for one in found]
    for one in found:
        for at, row in enumerate(one):
            before = one[at - 1][3] if at else "O"
            if row[3].startswith("I-") and before[2:] != row[3][2:]:
                row[3] = "B-" + row[3][2:]
    return [one for one in found if one]


def _table(sentences: list[list[list[str]]], names: dict[str, list[str]]) -> pa.Table:
    columns = {
        "id": pa.array([str(at) for at in range(len(sentences))]),
        "tokens": pa.array([[row[0] for row in one] for one in sentences]),
    }
    features: dict[str, object] = {
        "id": {"dtype": "string", "_type": "Value"},
        "tokens": {"feature": {"dtype": "string", "_type": "Value"}, "_type": "Sequence"},
    }
    for at, (name, known) in enumerate(names.items(), start=1):
        columns[name] = pa.array([[known.index(row[at]) for row in one] for one in sentences], pa.list_(pa.int64()))
        features[name] = {"feature": {"names": known, "_type": "ClassLabel"}, "_type": "Sequence"}
    return pa.table(columns).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
