"""The fine-tuning tasks of the multilingual track of 2026: 22 tasks in English, Dutch and Chinese, and published rows.

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
    Leaderboard,
    PublishedColumn,
    PublishedRow,
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

    def tasks(self, suite: Suite) -> Iterator[Task]:
        """Yield the task in each language."""
        for language, rows in self.rows.items():
            archive = Path(__file__).parent / "demo_data" / f"{self.name}-{language}.zip"
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
    ),
    Row("truthfulqa", "Which answer to the question is true?", tuple("ABCDEFGHIKL"), _everywhere(118)),
    Row(
        "xnli",
        "Does the premise entail or contradict the hypothesis?",
        ENTAILMENT,
        {"en": 2_000, "zh": 2_000},
        PAIR,
        {"en": _entailment(*"012"), "zh": _entailment(*"012")},
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


SOURCE = "https://github.com/babylm-org/babylm-eval at 45fe2c1, multilingual/finetune/results"
DROPPED = "the script leaves out the last rows of a validation file that fill no batch of 8"
COLUMNS: Mapping[str, PublishedColumn] = {
    task.name.partition("/")[2]: PublishedColumn("dev", "accuracy", task=task.name, split="dev") for task in tasks()
}

# fmt: off
FIGURES: Mapping[str, Mapping[str, float]] = {
    "GPT-2 Strict": {
        "arc-en": 24.8, "belebele-en": 23.3, "bmlama-en": 11.3,
    },
    "GPT-2 Strict-Small": {
        "arc-en": 24.8, "belebele-en": 26.1, "bmlama-en": 10.6, "mnli-en": 45.9, "sib200-en": 42.0,
        "truthfulqa-en": 19.6, "xnli-en": 43.2,
    },
    "GPT-2 nld": {
        "arc-nl": 24.4, "belebele-nl": 26.7, "bmlama-nl": 13.2, "include-nl": 19.6, "mnli-nl": 49.0,
        "sib200-nl": 74.5, "truthfulqa-nl": 23.2,
    },
    "GPT-2 zho": {
        "arc-zh": 25.8, "belebele-zh": 21.0, "bmlama-zh": 11.7, "include-zh": 32.1, "mnli-zh": 48.0,
        "sib200-zh": 21.5, "truthfulqa-zh": 27.7, "xnli-zh": 46.1,
    },
    "GPT-2 en+nld equal": {
        "arc-en": 24.6, "arc-nl": 24.2, "belebele-en": 26.7, "belebele-nl": 29.5, "bmlama-en": 12.8,
        "bmlama-nl": 11.4, "include-nl": 35.7, "mnli-en": 46.9, "mnli-nl": 51.5, "sib200-en": 79.0,
        "sib200-nl": 76.0, "truthfulqa-en": 22.3, "truthfulqa-nl": 17.9, "xnli-en": 45.2,
    },
    "GPT-2 en+nld+zho equal": {
        "arc-en": 24.8, "arc-nl": 24.4, "arc-zh": 25.0, "belebele-en": 22.2, "belebele-nl": 30.1,
        "belebele-zh": 22.7, "bmlama-en": 9.4, "bmlama-nl": 10.7, "bmlama-zh": 9.4, "include-nl": 19.6,
        "include-zh": 26.8, "mnli-en": 51.6, "mnli-nl": 43.9, "mnli-zh": 45.8, "sib200-en": 21.5,
        "sib200-nl": 21.5, "sib200-zh": 21.5, "truthfulqa-en": 22.3, "truthfulqa-nl": 23.2, "truthfulqa-zh": 23.2,
        "xnli-en": 46.7, "xnli-zh": 43.5,
    },
    "GPT-2 en+zho equal": {
        "arc-en": 25.2, "arc-zh": 24.6, "belebele-en": 22.7, "belebele-zh": 22.2, "bmlama-en": 9.9,
        "bmlama-zh": 9.9, "include-zh": 26.8, "mnli-en": 49.7, "mnli-zh": 46.8, "sib200-en": 21.5,
        "sib200-zh": 80.5, "truthfulqa-en": 22.3, "truthfulqa-zh": 23.2, "xnli-en": 44.3, "xnli-zh": 46.3,
    },
    "GPT-2 nld+zho equal": {
        "arc-nl": 24.4, "arc-zh": 26.2, "belebele-nl": 21.0, "belebele-zh": 23.3, "bmlama-nl": 10.2,
        "bmlama-zh": 9.4, "include-nl": 34.8, "include-zh": 19.6, "mnli-nl": 45.6, "mnli-zh": 45.2,
        "sib200-nl": 21.5, "sib200-zh": 21.5, "truthfulqa-nl": 23.2, "truthfulqa-zh": 25.0, "xnli-zh": 44.0,
    },
}
# fmt: on
"""Baseline of the challenge -> its accuracies. Those of GPT-BERT are not in the repository."""


def board() -> Leaderboard:
    """Make the leaderboard, which takes no files from here and has the figures of the baselines."""
    rows = []
    for system, figures in FIGURES.items():
        rows.append(PublishedRow(system, SOURCE, figures, notes=f"one seed; {DROPPED}"))
    return Leaderboard(
        name=SUITE,
        title="BabyLM 2026 (Multilingual), fine-tuning tasks",
        url="https://huggingface.co/spaces/BabyLM-community/BabyLM-Leaderboard-2026",
        columns=COLUMNS,
        published=tuple(rows),
    )
