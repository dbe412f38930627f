"""The tasks, one row each. The diagnostic sets AX-b and AX-g are labelled test splits of RTE."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from shutil import unpack_archive
from typing import TYPE_CHECKING, Any

from benchrunner import ACCURACY, Average, Classify, JsonTable, Metric, Recipe, Reshaped, Role, Split, Suite, Task, Term
from benchrunner.engine import Problem
from benchrunner_kinds import Candidates, Choose, ClassifyWords
from benchrunner_superglue import reading
from benchrunner_superglue.metrics import GENDER_PARITY, MULTIRC_EXACT, MULTIRC_F1, RECORD_EXACT, RECORD_F1
from benchrunner_tasks import MATTHEWS, f1_macro

ROOTS = ("", "SuperGLUE/", "superglue/", "super_glue/")
"""Folders below the data folder that are searched."""
RECIPE = Recipe(lr=1e-5, epochs=10, batch_size=16, max_length=256)
"""Learning rate and epochs are those of Wang et al. 2019, 5.1; they do not give the batch size and the length."""
CB_LABELS = ("contradiction", "entailment", "neutral")

if TYPE_CHECKING:
    import pyarrow as pa

RowsOf = Callable[[Mapping[str, Any]], Iterable[Mapping[str, Any]]]


@dataclass(frozen=True)
class Part:
    """The file of a split."""

    role: Role
    path: str
    """Path below the data folder."""
    rows: int
    """Official number of rows."""
    columns: Mapping[str, str] | None = None
    """Task's column -> key, if the file has other keys than the task's other files."""
    reshape: Callable[[pa.Table], pa.Table] | None = None
    """Adds columns that follow from several rows."""


@dataclass(frozen=True)
class Row:
    """One task: everything in which it differs from the others."""

    name: str
    folder: str
    about: str
    problem: Problem
    columns: Mapping[str, str]
    """Task's column -> key, without the label."""
    metrics: tuple[Metric, ...]
    counts: tuple[int, int, int]
    """Official numbers of rows of train, dev and test."""
    rows_of: RowsOf | None = None
    """Makes rows of an object, if an object is not a row as it is."""
    kept: tuple[str, ...] = ("idx",)
    """Columns that the board's file needs."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Label in the file -> label of the task."""
    gold: tuple[str, ...] = ("label",)
    """Keys and columns that rows of test lack."""
    further: Mapping[str, Part] = field(default_factory=dict)
    """Further splits by name."""
    clusters: str = ""
    """Column whose equal values mark rows about one text."""
    licence: str = ""

    def task(self, suite: Suite) -> Task:
        """Make the task of this row."""
        train, dev, test = self.counts
        parts = (
            Part("train", f"{self.folder}/train.jsonl", train),
            Part("dev", f"{self.folder}/val.jsonl", dev),
            Part("test", f"{self.folder}/test.jsonl", test),
        )
        splits = dict[str, Split]()
        for part in parts:
            splits[part.role] = self._split(part, is_labelled=part.role != "test")
        for name, part in self.further.items():
            splits[name] = self._split(part, is_labelled=True)
        return Task(
            name=f"superglue/{self.name}",
            about=self.about,
            problem=self.problem,
            splits=splits,
            metrics=self.metrics,
            recipe=RECIPE,
            suite=suite,
            demo_files=partial(unpack_archive, Path(__file__).parent / f"demo_data/{self.name}.zip"),
            columns=self.kept,
            clusters=self.clusters,
            language="en",
            licence=self.licence,
            title=self.folder,
        )

    def _split(self, part: Part, *, is_labelled: bool) -> Split:
        columns = dict(part.columns or self.columns)
        if is_labelled:
            columns |= {name: name for name in self.gold}
        paths = tuple(f"{root}{part.path}" for root in ROOTS)
        file = JsonTable(paths, columns, self.labels, optional=self.kept, rows=self.rows_of)
        source = file if part.reshape is None else Reshaped(file, part.reshape)
        return Split(part.role, (source,), part.rows)


BOOLEANS = {"false": "false", "true": "true"}
ONE_OR_ZERO = {"0": "false", "1": "true"}
YES_OR_NO = ("false", "true")
PAIR = {"a": "premise", "b": "hypothesis", "idx": "idx"}
NUMBERS = ("passage", "question", "answer")

# fmt: off
TABLE = (
    Row("boolq", "BoolQ", "Does the passage answer the question with yes?", Classify(YES_OR_NO),
        {"a": "passage", "b": "question", "idx": "idx"}, (ACCURACY,), (9_427, 3_270, 3_245), labels=BOOLEANS,
        licence="CC BY-SA 3.0"),
    Row("cb", "CB", "Is the author committed to the embedded clause?", Classify(CB_LABELS),
        PAIR, (ACCURACY, f1_macro(CB_LABELS)), (250, 56, 250)),
    Row("copa", "COPA", "Which of two sentences is the cause or the effect?", Choose(2),
        {"a": "first", "choices": "choices", "idx": "idx"}, (ACCURACY,), (400, 100, 500), reading.copa,
        licence="BSD 2-Clause"),
    Row("multirc", "MultiRC", "Is this an answer to the question about the passage?", Classify(YES_OR_NO),
        {"a": "first", "b": "second", **{name: name for name in NUMBERS}}, (MULTIRC_F1, MULTIRC_EXACT),
        (27_243, 4_848, 9_693), reading.multirc, kept=NUMBERS, labels=ONE_OR_ZERO,
        clusters="passage"),
    Row("record", "ReCoRD", "Which entity of the passage is missing in the sentence?", Candidates(),
        {"a": "first", "choices": "choices", "names": "names", "idx": "idx"}, (RECORD_F1, RECORD_EXACT),
        (100_730, 10_000, 10_000), reading.record, gold=("label", "answers"), clusters="a"),
    Row("rte-ax", "RTE", "Does the first text entail the second?", Classify(("entailment", "not_entailment")),
        PAIR, (ACCURACY, replace(MATTHEWS, detail=True), GENDER_PARITY), (2_490, 277, 3_000), further={
            "ax_b": Part("test", "AX-b/AX-b.jsonl", 1_104, {"a": "sentence1", "b": "sentence2", "idx": "idx"}),
            "ax_g": Part("test", "AX-g/AX-g.jsonl", 356, reshape=reading.winogender_pairs),
        }),
    Row("wic", "WiC", "Does the word mean the same in both sentences?", ClassifyWords(YES_OR_NO),
        {"a": "first", "b": "second", "marks": "marks", "idx": "idx"}, (ACCURACY,), (5_428, 638, 1_400), reading.wic,
        labels=BOOLEANS, licence="CC BY-NC 4.0"),
    Row("wsc", "WSC", "Does the pronoun stand for the noun?", ClassifyWords(YES_OR_NO),
        {"a": "first", "marks": "marks", "idx": "idx"}, (ACCURACY,), (554, 104, 146), reading.wsc, labels=BOOLEANS,
        licence="CC BY 4.0"),
)
# fmt: on


def _terms(row: Row) -> tuple[Term, ...]:
    headlines = [metric.name for metric in row.metrics if not metric.detail]
    return tuple(Term(f"superglue/{row.name}", "dev", metric) for metric in headlines)


SCORE = Average("SuperGLUE score", tuple(_terms(row) for row in TABLE))
SUPERGLUE = Suite("superglue", averages=(SCORE,))
"""The score is the mean over eight tasks; the two metrics of a task are averaged first (Wang et al. 2019, 3.3)."""


def tasks() -> Iterator[Task]:
    """Yield the eight tasks in the order of the leaderboard."""
    for row in TABLE:
        yield row.task(SUPERGLUE)
