"""The demo data: official layout and quirks, and tasks that can be learned."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from benchrunner import Task, Workspace
from benchrunner_glue.table import tasks

TASKS = {task.name.removeprefix("glue/"): task for task in tasks()}


def load(folder: Path, task: Task, split: str) -> list[dict[str, str]]:
    workspace = Workspace(runs=folder / "runs", cache=folder / "cache", data=folder)
    rows: list[dict[str, str]] = task.load(split, workspace).table.to_pylist()
    return rows


def test_the_files_have_the_official_quirks(demo: Path) -> None:
    assert (demo / "MRPC/train.tsv").read_bytes().startswith(b"\xef\xbb\xbfQuality\t")
    assert not (demo / "MRPC/test.tsv").read_bytes().startswith(b"\xef\xbb\xbf")
    assert len((demo / "CoLA/dev.tsv").read_text().splitlines()[0].split("\t")) == 4
    assert (demo / "CoLA/test.tsv").read_text().startswith("index\tsentence\n")
    broken = [line for line in (demo / "QQP/train.tsv").read_text().splitlines() if line.count("\t") != 5]
    assert len(broken) == 3
    assert (demo / "MNLI/dev_matched.tsv").read_text().split("\n")[0].endswith("label4\tlabel5\tgold_label")


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
def test_every_split_loads_and_texts_are_short_with_quotes(demo: Path, task: Task) -> None:
    texts = [
        row[column] for split in task.splits for row in load(demo, task, split) for column in row if column in "ab"
    ]
    assert min(len(text.split()) for text in texts) >= 4
    assert max(len(text.split()) for text in texts) <= 18  # MRPC and SST-2 count punctuation, too
    assert sum(text.count('"') % 2 for text in texts) or task.name in ("glue/cola", "glue/stsb", "glue/wnli")
    assert any('"' in text for text in texts)


def naive_bayes(train: list[dict[str, str]], dev: list[dict[str, str]]) -> float:
    """Compute the accuracy of naive Bayes on words: the least that a small encoder can learn from these rows."""
    words: dict[str, Counter[str]] = defaultdict(Counter)
    for row in train:
        words[row["label"]].update(set(re.findall(r"\w+", row.get("b", row["a"]).lower())))
    sizes = Counter(row["label"] for row in train)

    def likelihood(label: str, row: dict[str, str]) -> float:
        share = sizes[label] / len(train)
        for word in set(re.findall(r"\w+", row.get("b", row["a"]).lower())):
            share *= (words[label][word] + 0.1) / (sizes[label] + 0.2)
        return share

    return sum(max(sizes, key=lambda label: likelihood(label, row)) == row["label"] for row in dev) / len(dev)


@pytest.mark.parametrize("name", [name for name in TASKS if name not in ("stsb", "wnli")])
def test_words_alone_tell_the_answer(demo: Path, name: str) -> None:
    train = load(demo, TASKS[name], "train")
    for split in TASKS[name].named("dev"):
        dev = load(demo, TASKS[name], split)
        majority = max(Counter(row["label"] for row in dev).values()) / len(dev)
        assert majority < 0.75
        assert 0.9 < naive_bayes(train, dev) < 1.01


def test_wnlis_dev_contradicts_its_train(demo: Path) -> None:
    train = {(row["a"], row["b"]): row["label"] for row in load(demo, TASKS["wnli"], "train")}
    dev = load(demo, TASKS["wnli"], "dev")
    assert all(train[row["a"], row["b"]] != row["label"] for row in dev)
    assert Counter(train.values()).most_common(1)[0][0] == "not_entailment"
    assert Counter(row["label"] for row in dev)["not_entailment"] > len(dev) / 2
