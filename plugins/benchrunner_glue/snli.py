"""SNLI (Bowman et al. 2015): its files, and its data set on the hub, without the pairs that have no majority label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchrunner import ACCURACY, Classify, Filtered, JsonTable, Role, Split, Task, TextTable
from benchrunner_tasks import HubTable

ROOTS = ("", "snli_1.0/", "snli/", "SNLI/")
"""Folders below the data folder that are searched; the archive unpacks into the second."""
LABELS = ("entailment", "neutral", "contradiction")


def has_label(row: Mapping[str, Any]) -> bool:
    """Whether a pair has a majority label: the files write `-` where there is none, the hub -1."""
    return row["label"] in LABELS


def _split(role: Role, hub: str, rows: int) -> Split:
    columns = {"a": "sentence1", "b": "sentence2", "label": "gold_label"}
    paths = [f"{root}snli_1.0_{role}" for root in ROOTS]
    sources = (
        JsonTable(tuple(f"{path}.jsonl" for path in paths), columns),
        TextTable(tuple(f"{path}.txt" for path in paths), columns),
        HubTable("stanfordnlp/snli", "plain_text", hub, {"a": "premise", "b": "hypothesis", "label": "label"}),
    )
    return Split(role, tuple(Filtered(source, has_label, "without a majority label") for source in sources), rows)


SNLI = Task(
    name="snli/snli",
    title="SNLI",
    about="Does the caption of a picture entail or contradict the other sentence?",
    problem=Classify(LABELS),
    splits={
        "train": _split("train", "train", 549_367),
        "dev": _split("dev", "validation", 9_842),
        "test": _split("test", "test", 9_824),
    },
    metrics=(ACCURACY,),
    clusters="a",
    language="en",
    licence="CC BY-SA 4.0",
)
