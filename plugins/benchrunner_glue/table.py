"""The nine tasks as rows of a table; a row makes a task with its official files and its data set on the hub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import unpack_archive

from benchrunner import ACCURACY, Average, Classify, Metric, Regress, Role, Split, Suite, Task, Term, TextTable
from benchrunner.engine import Problem
from benchrunner_tasks import MATTHEWS, PEARSON, SPEARMAN, HubTable, f1

REPOSITORY = "nyu-mll/glue"
"""Repository of GLUE on the hub."""
ROOTS = ("", "glue/", "GLUE/", "glue_data/")
"""Folders below the data folder that are searched; the download script writes into the last."""


@dataclass(frozen=True)
class Part:
    """One split: its name on the hub, its official number of rows, and its files."""

    role: Role
    hub: str
    """Name of the split on the hub."""
    rows: int
    """Official number of rows."""
    configuration: str = ""
    """Configuration on the hub; empty for the one with the task's name."""
    files: tuple[str, ...] = ()
    """Paths below a folder of `ROOTS`; empty for FOLDER/SPLIT.tsv."""


def _three(train: int, dev: int, test: int) -> dict[str, Part]:
    return {
        "train": Part("train", "train", train),
        "dev": Part("dev", "validation", dev),
        "test": Part("test", "test", test),
    }


@dataclass(frozen=True)
class Row:
    """One task as the official files and the hub have it. The hub spells labels as the task does."""

    name: str
    folder: str
    """Folder of the official layout."""
    about: str
    texts: tuple[str, ...]
    """Columns of the files with the text, or with the two texts."""
    label: str
    """Column of the files with the label; on the hub, the column is always `label`."""
    problem: Problem
    metrics: tuple[Metric, ...]
    """Metrics, the headline first."""
    parts: Mapping[str, Part]
    spelled: Mapping[str, str] = field(default_factory=dict)
    """The files' text of a label -> the task's label."""
    hub_texts: tuple[str, ...] | None = None
    """Columns on the hub with the texts; None for the same names as in the files."""
    counted: str = "index"
    """Column of a test file that counts its rows from 0."""
    names: tuple[str, ...] | None = None
    """Names of the columns of train and dev, where these files have no header line."""
    breaks: bool = False
    """Whether train and dev have records with line ends inside a question."""
    method: str = "finetune"
    reason: str = ""
    select_on: tuple[str, ...] = ()
    """The dev splits that select, where a task has several."""
    clusters: str = ""
    """The task's column whose equal values mark rows about one text."""
    licence: str = ""

    def task(self) -> Task:
        """Make the task of this row."""
        return Task(
            name=f"glue/{self.name}",
            about=self.about,
            problem=self.problem,
            splits={
                name: Split(part.role, (self._file(name, part), self._hub(part)), part.rows)
                for name, part in self.parts.items()
            },
            metrics=self.metrics,
            method=self.method,
            method_reason=self.reason,
            suite=GLUE,
            demo_files=partial(unpack_archive, Path(__file__).parent / f"demo_data/{self.name}.zip"),
            select_on=self.select_on,
            clusters=self.clusters,
            language="en",
            licence=self.licence,
            title=self.folder,
        )

    def _file(self, split: str, part: Part) -> TextTable:
        has_labels = part.role != "test"
        files = part.files or (f"{self.folder}/{split}.tsv",)
        return TextTable(
            path=tuple(f"{root}{file}" for root in ROOTS for file in files),
            columns=_columns(self.texts, self.label if has_labels else None),
            names=self.names if has_labels else None,
            labels=self.spelled,
            counted=None if has_labels else self.counted,
            breaks_inside_fields=self.breaks and has_labels,
        )

    def _hub(self, part: Part) -> HubTable:
        """Make the source on the hub. Labels of test rows are never read, although MRPC's are on the hub."""
        label = "label" if part.role != "test" else None
        return HubTable(
            REPOSITORY, part.configuration or self.name, part.hub, _columns(self.hub_texts or self.texts, label)
        )


def _columns(texts: tuple[str, ...], label: str | None) -> dict[str, str]:
    columns = dict(zip("ab", texts, strict=False))
    return columns if label is None else columns | {"label": label}


# fmt: off
TABLE = (
    Row("cola", "CoLA", "Is the sentence acceptable English?", ("sentence",), "label",
        Classify(("unacceptable", "acceptable")), (MATTHEWS,), _three(8_551, 1_043, 1_063),
        spelled={"0": "unacceptable", "1": "acceptable"},
        names=("source", "label", "star", "sentence"), licence="research use"),
    Row("sst2", "SST-2", "Is what the review says positive or negative?", ("sentence",), "label",
        Classify(("negative", "positive")), (ACCURACY,), _three(67_349, 872, 1_821),
        spelled={"0": "negative", "1": "positive"}),
    Row("mrpc", "MRPC", "Do the two sentences from the news mean the same?", ("#1 String", "#2 String"), "Quality",
        Classify(("not_equivalent", "equivalent")), (f1("equivalent"), ACCURACY), _three(3_668, 408, 1_725),
        spelled={"0": "not_equivalent", "1": "equivalent"}, hub_texts=("sentence1", "sentence2"),
        licence="research use"),
    Row("stsb", "STS-B", "How similar are the two sentences, from 0 to 5?", ("sentence1", "sentence2"), "score",
        Regress(0, 5), (SPEARMAN, PEARSON), _three(5_749, 1_500, 1_379), licence="research use"),
    Row("qqp", "QQP", "Do the two questions ask the same?", ("question1", "question2"), "is_duplicate",
        Classify(("not_duplicate", "duplicate")), (f1("duplicate"), ACCURACY), _three(363_846, 40_430, 390_965),
        spelled={"0": "not_duplicate", "1": "duplicate"}, counted="id", breaks=True,
        licence="Quora's terms, non-commercial"),
    Row("mnli", "MNLI", "Does the premise entail or contradict the hypothesis?", ("sentence1", "sentence2"),
        "gold_label", Classify(("entailment", "neutral", "contradiction")), (ACCURACY,), {
            "train": Part("train", "train", 392_702),
            "dev_matched": Part("dev", "validation_matched", 9_815),
            "dev_mismatched": Part("dev", "validation_mismatched", 9_832),
            "test_matched": Part("test", "test_matched", 9_796),
            "test_mismatched": Part("test", "test_mismatched", 9_847),
            "ax": Part("test", "test", 1_104, configuration="ax",
                       files=("diagnostic/diagnostic.tsv", "AX/diagnostic.tsv", "AX/test.tsv")),
        }, clusters="a", licence="OANC, partly CC BY 3.0 and CC BY-SA 3.0",
        select_on=("dev_matched",)),  # as for BERT's figures: Devlin et al. 2019, Table 6 and GLUE's MNLI-m
    Row("qnli", "QNLI", "Does the sentence hold the answer to the question?", ("question", "sentence"), "label",
        Classify(("entailment", "not_entailment")), (ACCURACY,), _three(104_743, 5_463, 5_463),
        licence="CC BY-SA 4.0"),
    Row("rte", "RTE", "Does the first text entail the second?", ("sentence1", "sentence2"), "label",
        Classify(("entailment", "not_entailment")), (ACCURACY,), _three(2_490, 277, 3_000)),
    Row("wnli", "WNLI", "Is the pronoun replaced by the right noun?", ("sentence1", "sentence2"), "label",
        Classify(("not_entailment", "entailment")), (ACCURACY,), _three(635, 71, 146),
        spelled={"0": "not_entailment", "1": "entailment"}, method="majority",
        reason="dev repeats train's sentences with the opposite answers, so a learned answer misleads; the majority "
               "class is the paper's policy and scores 65.1 on test"),
)
# fmt: on


def _term(task: str, metric: str, split: str = "dev") -> Term:
    return Term(f"glue/{task}", split, metric)


_MATCHED = _term("mnli", "accuracy", "dev_matched")
_MISMATCHED = _term("mnli", "accuracy", "dev_mismatched")
_COLA, _SST2 = _term("cola", "matthews"), _term("sst2", "accuracy")
_QNLI, _RTE, _WNLI = (_term(task, "accuracy") for task in ("qnli", "rte", "wnli"))
_MRPC, _QQP, _STSB = _term("mrpc", "f1"), _term("qqp", "f1"), _term("stsb", "spearman")

PAPER_AVERAGE = Average(
    "paper average",
    tuple((term,) for term in (_MATCHED, _MISMATCHED, _QQP, _QNLI, _SST2, _COLA, _STSB, _MRPC, _RTE)),
)
"""The average of Table 1 in Devlin et al. 2019: the mean of nine columns, one metric each, without WNLI."""

GLUE_SCORE = Average(
    "GLUE score",
    (
        (_COLA,),
        (_SST2,),
        (_MRPC, _term("mrpc", "accuracy")),
        (_STSB, _term("stsb", "pearson")),
        (_QQP, _term("qqp", "accuracy")),
        (_MATCHED, _MISMATCHED),
        (_QNLI,),
        (_RTE,),
        (_WNLI,),
    ),
)
"""The leaderboard's score: the mean over nine tasks with WNLI; the figures of one task are averaged first."""

GLUE = Suite("glue", averages=(PAPER_AVERAGE, GLUE_SCORE))
"""The tasks of GLUE with its two averages. Publications call both "the average"."""


def tasks() -> Iterator[Task]:
    """Yield the nine tasks in the order of the leaderboard."""
    for row in TABLE:
        yield row.task()
