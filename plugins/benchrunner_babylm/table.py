"""The tasks, one row each: BoolQ, MNLI, MRPC, MultiRC, QQP, RTE and WSC, filtered by the words of BabyLM's corpus.

The facts are those of https://github.com/babylm/evaluation-pipeline-2025 at the commit bf55c11 (17 August 2025). The
Strict track of 2026 has the same files: https://github.com/babylm-org/babylm-eval at 45fe2c1, folder `strict`.
`evaluation_pipeline/finetune/dataset.py` (texts), `eval_finetuning.sh` and `finetune/run.py` (hyper-parameters and
metrics), `collate_preds.py` (numbers of rows).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shutil import unpack_archive
from typing import Any

from benchrunner import ACCURACY, Average, Classify, JsonTable, Metric, Recipe, Role, Split, Suite, Task, Term
from benchrunner_tasks import MATTHEWS, f1

ROOTS = ("evaluation_data/full_eval/", "full_eval/", "babylm/", "")
"""Folders below the data folder that are searched for the folder `glue_filtered`."""
RECIPE = Recipe(
    lr=3e-5,
    epochs=10,
    batch_size=32,
    max_length=512,
    warmup=0.06,
    schedule="after-warmup",
    weight_decay=0.01,
    epsilon=1e-8,
    clip=0.0,
)
"""The hyper-parameters of the challenge's script, but for its cosine decay, which ends at a tenth of the peak rate."""
LABELS = {"0": "0", "1": "1", "2": "2", "false": "0", "true": "1"}
"""Label in the files, as JSON writes it -> label of the task. Predictions are the numbers of the files."""
Texts = Callable[[Mapping[str, Any]], tuple[str, str]]
"""Makes the two texts of a sequence from an object of the file."""


def _of_keys(first: str, second: str, given: Mapping[str, Any]) -> tuple[str, str]:
    return given[first], given[second]


def _pair(first: str, second: str) -> Texts:
    """Take the texts at two keys."""
    return partial(_of_keys, first, second)


def _multirc(given: Mapping[str, Any]) -> tuple[str, str]:
    return f"Question: {given['question']} Answer: {given['answer']}", given["paragraph"]


def _wsc(given: Mapping[str, Any]) -> tuple[str, str]:
    return f'Does "{given["span2_text"]}" refer to "{given["span1_text"]}" in this passage?', given["text"]


@dataclass(frozen=True)
class Row:
    """One task: everything in which it differs from the others."""

    name: str
    """Name of the task in the files and predictions."""
    about: str
    texts: Texts
    rows: int
    """Number of rows of the validation file."""
    labels: int = 2
    """Number of labels."""
    recipe: Recipe = RECIPE
    is_scored_by_f1: bool = False
    """Whether the challenge averages the F1 of the label 1, and not the accuracy."""
    licence: str = ""

    @property
    def task_name(self) -> str:
        """Name of the task in benchrunner. It is not the name in the files, so that `rte` goes on meaning glue/rte."""
        return f"babylm/{self.name}-filtered"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that the challenge's script computes, the one that is averaged first."""
        if self.labels > 2:
            return (ACCURACY,)
        figures = (f1("1"), ACCURACY) if self.is_scored_by_f1 else (ACCURACY, f1("1"))
        return (*figures, replace(MATTHEWS, detail=True))

    def task(self, suite: Suite) -> Task:
        """Make the task of this row."""
        return Task(
            name=self.task_name,
            about=self.about,
            problem=Classify(tuple(map(str, range(self.labels)))),
            splits={"train": self._split("train", "train", None), "dev": self._split("dev", "valid", self.rows)},
            metrics=self.metrics,
            recipe=self.recipe,
            suite=suite,
            demo_files=partial(unpack_archive, Path(__file__).parent / f"demo_data/{self.name}.zip"),
            language="en",
            licence=self.licence,
        )

    def _split(self, role: Role, file: str, rows: int | None) -> Split:
        paths = tuple(f"{root}glue_filtered/{self.name}.{file}.jsonl" for root in ROOTS)
        columns = {"a": "first", "b": "second", "label": "label"}
        return Split(role, (JsonTable(paths, columns, LABELS, rows=self._row),), rows)

    def _row(self, given: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield the row of an object; an object without a label is a user's own question."""
        first, second = self.texts(given)
        yield {"first": first, "second": second} | ({"label": given["label"]} if "label" in given else {})


TABLE = (
    Row(
        "boolq",
        "Does the passage answer the question with yes?",
        _pair("question", "passage"),
        1_635,
        recipe=replace(RECIPE, batch_size=16),
        licence="CC BY-SA 3.0",
    ),
    Row("mnli", "Does the premise entail the hypothesis?", _pair("premise", "hypothesis"), 4_908, labels=3),
    Row("mrpc", "Do both sentences say the same?", _pair("sentence1", "sentence2"), 204, is_scored_by_f1=True),
    Row(
        "multirc",
        "Is this an answer to the question about the paragraph?",
        _multirc,
        2_424,
        recipe=replace(RECIPE, batch_size=16),
    ),
    Row("qqp", "Do both questions ask the same?", _pair("question1", "question2"), 20_215, is_scored_by_f1=True),
    Row("rte", "Does the first text entail the second?", _pair("sentence1", "sentence2"), 139),
    Row(
        "wsc", "Does the pronoun stand for the noun?", _wsc, 52, recipe=replace(RECIPE, epochs=30), licence="CC BY 4.0"
    ),
)

BABYLM = Suite(
    "babylm",
    averages=(
        Average("BabyLM GLUE", tuple((Term(row.task_name, "dev", row.metrics[0].name),) for row in TABLE)),
        Average("BabyLM GLUE accuracy", tuple((Term(row.task_name, "dev", "accuracy"),) for row in TABLE)),
    ),
)
"""Means over the seven tasks: accuracies, but the F1 of MRPC and QQP, as the README of the challenge says; and
accuracies alone, as its `calculate_results_from_pred.py` computes."""


def tasks() -> Iterator[Task]:
    """Yield the seven tasks in the order of the predictions."""
    for row in TABLE:
        yield row.task(BABYLM)
