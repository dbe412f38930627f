"""WikiQA (Yang et al. 2015): which sentences of a Wikipedia article answer the question?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from shutil import unpack_archive
from typing import TYPE_CHECKING, Any

from benchrunner import DataError, Filtered, Recipe, Reshaped, Role, Split, Task, TextTable, quoted
from benchrunner_ranking import metrics
from benchrunner_ranking.rank import Rank

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = {
    "query_id": "QuestionID",
    "question": "Question",
    "sentence_id": "SentenceID",
    "sentence": "Sentence",
    "label": "Label",
}
ROOTS = ("WikiQACorpus/", "wikiqa/", "ranking/wikiqa/")
"""Folders below the data folder that are searched; the first is that of the official archive."""


def questions(table: pa.Table) -> pa.Table:
    """Make a row of each question, whose lines must stand together: its candidates are the sentences of its lines."""
    import pyarrow as pa

    rows = dict[str, dict[str, Any]]()
    last = ""
    for line in table.to_pylist():
        query = line["query_id"]
        if query in rows and query != last:
            raise DataError(f"the lines of the question {quoted(query)} do not stand together. Is the file reordered?")
        last = query
        row = rows.setdefault(query, {"query_id": query, "a": line["question"], "ids": [], "choices": [], "label": []})
        row["ids"].append(line["sentence_id"])
        row["choices"].append(line["sentence"])
        if "label" in line:
            row["label"].append({"id": line["sentence_id"], "grade": _grade(line)})
    made = pa.Table.from_pylist(list(rows.values()))
    return made if "label" in table.column_names else made.drop_columns(["label"])


def _grade(line: Mapping[str, Any]) -> int:
    if line["label"] not in ("0", "1"):
        raise DataError(
            f"the sentence {quoted(line['sentence_id'])} has the label {quoted(line['label'])}, not 0 or 1."
        )
    return int(line["label"])


def has_answer(row: Mapping[str, Any]) -> bool:
    """Say whether a sentence of a row is right; rows without labels are all kept."""
    label = row.get("label")
    return label is None or any(judged["grade"] > 0 for judged in label)


def _split(role: Role, count: int) -> Split:
    file = TextTable(tuple(f"{root}WikiQA-{role}.tsv" for root in ROOTS), COLUMNS)
    return Split(role, (Filtered(Reshaped(file, questions), has_answer, "questions without a right sentence"),), count)


WIKIQA = Task(
    name="ranking/wikiqa",
    about="Which sentences of the article answer the question?",
    problem=Rank(),
    splits={"train": _split("train", 873), "dev": _split("dev", 126), "test": _split("test", 243)},
    metrics=(
        metrics.mean_average_precision(),
        metrics.reciprocal_rank(),
        metrics.ndcg(10, detail=True),
        metrics.recall(1, detail=True),
    ),
    recipe=Recipe(lr=2e-5, epochs=3, batch_size=8, max_length=128),
    demo_files=partial(unpack_archive, Path(__file__).parent / "demo_data/wikiqa.zip"),
    columns=("query_id",),
    language="en",
    licence="Microsoft Research Data License",
)
"""Questions without a right sentence are left out, as in the paper's evaluation (4.1). The recipe is ours."""
