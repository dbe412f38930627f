"""The fine-tuning tasks of the multilingual track of 2026: 22 tasks in English, Dutch and Chinese.

The facts are those of https://github.com/babylm-org/babylm-eval at 45fe2c1, folder `multilingual`: `finetune/data`
(files and labels), `finetune/finetune_classification.py` (texts, metric) and `scripts/finetune_model.sh` (tasks and
hyper-parameters).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import unpack_archive

from benchrunner import (
    ACCURACY,
    Average,
    Classify,
    JsonTable,
    Recipe,
    Role,
    Split,
    Suite,
    Task,
    Term,
)

SUITE = "babylm-multilingual"
LANGUAGES: Mapping[str, str] = {"en": "English", "nl": "Dutch", "zh": "Chinese"}
"""Language in the names of files -> its name."""
ROOTS = ("multilingual/finetune/data/multilingual/", "finetune/data/multilingual/", f"{SUITE}/", "")
"""Folders below the data folder that are searched for the folders of the languages."""
RECIPE = Recipe(
    lr=5e-5,
    epochs=10,
    batch_size=64,
    max_length=128,
    warmup=0.0,
    schedule="after-warmup",
    weight_decay=0.0,
    epsilon=1e-8,
)
"""The hyper-parameters of the challenge's script; those that it does not give are the defaults of transformers."""
ENTAILMENT = ("entailment", "neutral", "contradiction")
PAIR = ("premise", "hypothesis")


@dataclass(frozen=True)
class Row:
    """One task in all languages that have it."""

    name: str
    about: str
    labels: tuple[str, ...]
    rows: Mapping[str, int]
    """Language -> number of rows of the validation file."""
    keys: tuple[str, ...] = ("sentence",)
    """Keys of the one or two texts in the objects of the files."""
    spelled: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Language -> label in its files, as JSON writes it -> label of the task, in the order of `labels`."""
    licence: str = ""

    def tasks(self, suite: Suite) -> Iterator[Task]:
        """Yield the task in each language."""
        for language, rows in self.rows.items():
            archive = Path(__file__).parent / f"demo_data/{self.name}-{language}.zip"
            yield Task(
                name=f"{SUITE}/{self.name}-{language}",
                about=f"{self.about} ({LANGUAGES[language]})",
                problem=Classify(self.labels),
                splits={
                    "train": self._split("train", language, "train", None),
                    "dev": self._split("dev", language, "valid", rows),
                },
                metrics=(ACCURACY,),
                recipe=RECIPE,
                suite=suite,
                demo_files=partial(unpack_archive, archive),
                language=language,
                licence=self.licence,
            )

    def _split(self, role: Role, language: str, file: str, rows: int | None) -> Split:
        """Make a split of the file that the challenge reads."""
        paths = tuple(f"{root}{language}/{self.name}/{self.name}_{language}.{file}.jsonl" for root in ROOTS)
        columns = dict(zip(("a", "b"), self.keys, strict=False)) | {"label": "label"}
        return Split(role, (JsonTable(paths, columns, self.spelled.get(language, {})),), rows)


def _entailment(*spelled: str) -> Mapping[str, str]:
    """Map three labels of a file to those of the task."""
    return dict(zip(spelled, ENTAILMENT, strict=True))


def _everywhere(rows: int) -> dict[str, int]:
    return dict.fromkeys(LANGUAGES, rows)


TABLE = (
    Row("arc", "Which answer to the question of a school exam is right?", tuple("ABCDE"), _everywhere(482)),
    Row("belebele", "Which answer to the question about the passage is right?", tuple("ABCD"), _everywhere(180)),
    Row("bmlama", "Which name fills the gap of the sentence?", tuple("ABCDEFGHIJ"), _everywhere(1_213)),
    Row("include", "Which answer to the question of a local exam is right?", tuple("ABCD"), {"nl": 116, "zh": 117}),
    Row(
        "mnli",
        "Does the premise entail or contradict the hypothesis?",
        ENTAILMENT,
        _everywhere(1_777),
        PAIR,
        {"nl": _entailment("inhoud", "neutraal", "tegenstrijdigheid"), "zh": _entailment("蕴含", "中立", "矛盾")},
    ),
    Row(
        "sib200",
        "What is the sentence about?",
        ("entertainment", "geography", "health", "politics", "science/technology", "sports", "travel"),
        _everywhere(201),
        licence="CC BY-SA 4.0",
    ),
    Row("truthfulqa", "Which answer to the question is true?", tuple("ABCDEFGHIKL"), _everywhere(118)),
    Row(
        "xnli",
        "Does the premise entail or contradict the hypothesis?",
        ENTAILMENT,
        {"en": 2_000, "zh": 2_000},
        PAIR,
        {"en": _entailment(*"012"), "zh": _entailment(*"012")},
        "CC BY-NC 4.0",
    ),
)


def _averages() -> Iterator[Average]:
    """Yield the mean accuracy of each language; its terms are all of its tasks."""
    for language, name in LANGUAGES.items():
        own = [row for row in TABLE if language in row.rows]
        terms = tuple((Term(f"{SUITE}/{row.name}-{language}", "dev", "accuracy"),) for row in own)
        yield Average(f"BabyLM {name}", terms)


def tasks() -> Iterator[Task]:
    """Yield the tasks, those of one file name together."""
    suite = Suite(SUITE, averages=tuple(_averages()))
    for row in TABLE:
        yield from row.tasks(suite)
