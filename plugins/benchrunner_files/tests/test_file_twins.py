"""A task file beside the data of a packaged task gives the same rows, the same identity and the same scores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchrunner import Recipe, Rows, Task, Workspace
from benchrunner.results import Computing, Plugins, Runner, predict

COLA = """problem = "classify"
labels = {0 = "unacceptable", 1 = "acceptable"}
metrics = ["matthews"]
[columns]
a = "sentence"
label = "label"
[format]
header = ["source", "label", "star", "sentence"]
[splits]
train = "CoLA/train.tsv"
dev = "CoLA/dev.tsv"
test = {file = "CoLA/test.tsv", format = {kind = "tsv"}}
"""
STSB = """problem = "regress"
low = 0
high = 5
metrics = ["pearson", "spearman"]
[columns]
a = "sentence1"
b = "sentence2"
label = "score"
[splits]
train = "STS-B/train.tsv"
dev = "STS-B/dev.tsv"
test = "STS-B/test.tsv"
"""
NER = """problem = "tag"
labels = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC", "B-MISC", "I-MISC"]
clusters = "document"
[columns]
words = 0
labels = -1
[format]
kind = "words"
iob = true
[splits]
train = "conll2003/eng.train"
dev = "conll2003/eng.testa"
test = "conll2003/eng.testb"
"""
SQUAD = """problem = "span"
metrics = ["squad/1.1:exact_match", "squad/1.1:f1"]
clusters = "article"
keep = ["article"]
[columns]
id = "id"
question = "question"
context = "context"
answers = "answers.text"
starts = "answers.answer_start"
[splits]
train = "train.jsonl"
dev = "dev.jsonl"
"""


def squad_lines(rows: Rows) -> str:
    """The rows of SQuAD as JSON lines with the keys of the hub's data set."""
    lines = []
    for row in rows.table.to_pylist():
        row["answers"] = {"text": row.pop("answers"), "answer_start": row.pop("starts")}
        lines.append(json.dumps(row))
    return "\n".join(lines) + "\n"


def twins(packaged: str, text: str, plugins: Plugins, folder: Path) -> tuple[Task, Task, Workspace]:
    """A packaged task with its demo data, and the task of a file beside them."""
    workspace = Workspace.of_demo(folder)
    assert workspace.data is not None
    task = plugins.tasks.find(packaged)
    assert task.demo_files is not None
    task.demo_files(workspace.data)
    if packaged.startswith("squad"):
        for split in ("train", "dev"):
            (workspace.data / f"{split}.jsonl").write_text(squad_lines(task.load(split, workspace)))
    path = workspace.data / "twin.toml"
    path.write_text(text)
    return task, plugins.tasks.find(str(path)), workspace


TWINS: Mapping[str, str] = {"glue/cola": COLA, "glue/stsb": STSB, "conll/ner": NER, "squad/1.1": SQUAD}


@pytest.mark.parametrize("packaged", TWINS)
def test_a_twin_has_the_same_rows_and_the_same_problem(packaged: str, plugins: Plugins, tmp_path: Path) -> None:
    task, twin, workspace = twins(packaged, TWINS[packaged], plugins, tmp_path)
    assert twin.problem.identity() == task.problem.identity()
    for split in twin.splits:
        own, other = twin.load(split, workspace), task.load(split, workspace)
        columns = own.table.column_names
        assert own.table == other.table.select(columns), split
        further = set(other.table.column_names) - set(columns) - {"pos", "chunk", "index", "document"}
        assert not further, split
    if packaged != "conll/ner":  # which has columns besides words and labels
        assert twin.load("train", workspace).fingerprint == task.load("train", workspace).fingerprint


@pytest.mark.parametrize("packaged", ["glue/cola", "squad/1.1"])
def test_a_twin_gets_the_same_answers_and_scores(packaged: str, plugins: Plugins, tmp_path: Path) -> None:
    task, twin, workspace = twins(packaged, TWINS[packaged], plugins, tmp_path)
    runner = Runner(plugins, workspace, Computing(device="cpu"))
    recipe = Recipe(epochs=1, lr=1e-3, max_length=64, stride=16, limit_train=16, batch_size=8)
    predicted = []
    for each in (task, twin):
        fit = runner.planner.plan(each, "bert/random-tiny", recipe=recipe)
        assert runner.run(fit).status == "done"
        predicted.append(predict(fit, "dev", runner))
    assert predicted[0].answers == predicted[1].answers
    names = [metric.name for metric in task.metrics if metric.name in predicted[1].record.scores]
    assert task.metrics[0].name in names
    for name in names:
        assert predicted[1].record.scores[name].value == pytest.approx(predicted[0].record.scores[name].value), name
