"""Audit the fine-tuned baselines of BabyLM 2026's multilingual track with the gold labels of their own repository.

`python benchmarks/babylm_audit.py CHECKOUT` reads a checkout of github.com/babylm-org/babylm-eval: each task in each
language is a task of benchrunner here, and its prediction files are audited. docs/audit.md shows the output.
"""

import argparse
import functools
import json
from collections import Counter
from pathlib import Path

from benchrunner import ACCURACY, Classify, RowsFrom, Split, Task, Workspace
from benchrunner.results import Runner, discover
from benchrunner_audit.audit import AuditedFile, audit_files
from benchrunner_audit.question import question_of_task

BATCH = 8
"""The baselines answer whole batches of this size only: the rows of the last, smaller batch have no answer."""


def labelled_rows(file: Path, multiple: int, workspace: Workspace) -> dict[str, list[str]]:
    """Read the labels of the first rows of a file, as many as are a multiple of a number; texts are not needed."""
    lines = file.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines[: len(lines) // multiple * multiple]]
    return {"a": ["-" for _ in rows], "label": [str(row["label"]) for row in rows]}


def task_of(language: str, name: str, data: Path) -> Task:
    """Return a task of one language, with the labels of its training rows as the label set."""
    train, valid = (data / language / name / f"{name}_{language}.{part}.jsonl" for part in ("train", "valid"))
    labels = tuple(sorted(set(labelled_rows(train, 1, Workspace(Path(), Path()))["label"])))
    splits = {
        "train": Split("train", (RowsFrom(functools.partial(labelled_rows, train, 1)),)),
        "dev": Split("dev", (RowsFrom(functools.partial(labelled_rows, valid, BATCH)),)),
    }
    return Task(f"{language}/{name}", f"{name} in {language}", Classify(labels), splits, (ACCURACY,))


def reported(path: Path) -> float:
    """Return the accuracy that the repository reports beside a prediction file."""
    return float(json.loads((path.parent / "all_results.json").read_text(encoding="utf-8"))["eval_accuracy"])
