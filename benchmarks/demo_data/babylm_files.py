"""Writes small generated data sets in the official layout, for `benchrunner demo` and tests.

A word of each row tells the label, so that a small encoder learns a task from some hundred rows without pre-training.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

COUNTS = {"train": 120, "valid": 40}
"""File -> its number of rows."""
PERSONS = ("Anna", "Tom", "Ruth", "Peter", "Clara", "George")
THINGS = ("lamp", "basket", "letter", "chair", "rope", "kettle")
WORDS = ("never", "surely", "perhaps")
"""Label -> the word that tells it."""
LABELS = {"mnli": 3}
"""Task -> its number of labels, if not two."""


def write(task: str, seed: int, folder: Path) -> None:
    """Write `glue_filtered/TASK.train.jsonl` and `TASK.valid.jsonl`. Equal seeds give equal bytes."""
    for file, count in COUNTS.items():
        draw = random.Random(f"{task} {file} {seed}")
        objects = [
            {**_object(task, label := draw.randrange(LABELS.get(task, 2)), draw), "label": label} for _ in range(count)
        ]
        _write_lines(folder / f"glue_filtered/{task}.{file}.jsonl", objects)


def write_multilingual(
    task: str, language: str, keys: Sequence[str], labels: Sequence[str], seed: int, folder: Path
) -> None:
    """Write the two files of a task of the multilingual track, whose labels come in turn."""
    words = (*THINGS, *PERSONS)
    for file, count in COUNTS.items():
        draw = random.Random(f"{task} {language} {file} {seed}")
        objects = []
        for number in range(count):
            label = number % len(labels)
            telling = f"Here we see {words[label]} and again {words[label]}."
            texts = [f"{draw.choice(PERSONS)} took it.", telling][-len(keys) :]
            objects.append({**dict(zip(keys, texts, strict=True)), "label": labels[label]})
        home = folder / f"multilingual/finetune/data/multilingual/{language}/{task}"
        _write_lines(home / f"{task}_{language}.{file}.jsonl", objects)


def _write_lines(path: Path, objects: Sequence[Mapping[str, Any]]) -> None:
    """Write objects with their numbers, each in a line."""
    lines = [json.dumps({**given, "idx": number}) for number, given in enumerate(objects)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())


def _object(task: str, label: int, draw: random.Random) -> dict[str, Any]:
    """Make the texts of a row under the keys of the task's file."""
    person, thing = draw.choice(PERSONS), draw.choice(THINGS)
    plain, telling = f"{person} took the {thing}.", f"{person} {WORDS[label]} took the {draw.choice(THINGS)}."
    keys = {
        "boolq": ("question", "passage"),
        "mnli": ("premise", "hypothesis"),
        "qqp": ("question1", "question2"),
    }
    if task == "multirc":
        return {"paragraph": telling, "question": "Who took it?", "answer": person}
    if task == "wsc":
        return {"text": f"{telling} They sang.", "span1_text": person, "span2_text": "They"}
    first, second = keys.get(task, ("sentence1", "sentence2"))
    return {first: plain, second: telling}
