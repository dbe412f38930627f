"""The tasks keep their contract, their files are read as the organizers wrote them, and phrases count as in seqeval."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from seqeval.metrics import f1_score, precision_score, recall_score

from benchrunner import Task, Workspace
from benchrunner.results import Computing, Runner, discover
from benchrunner.runs.predicting import predict
from benchrunner.workspace import Settings
from benchrunner_conll2002 import register_tasks
from benchrunner_conll2002.table import phrases
from benchrunner_kinds import iob_tags
from benchrunner_kit.testing import check_task, tiny_family
from inline import plugin

TASKS = {task.name: task for task in register_tasks()}
SPANISH, DUTCH = TASKS["conll2002/spanish"], TASKS["conll2002/dutch"]


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_task_keeps_its_contract(task: Task, tmp_path: Path) -> None:
    check_task(task, tmp_path)


def load(folder: Path, task: Task, path: str, content: bytes) -> list[dict[str, Any]]:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content)
    rows: list[dict[str, Any]] = task.load("train", Workspace(folder, folder, data=folder)).table.to_pylist()
    return rows


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_spanish_files_have_two_columns(encoding: str, tmp_path: Path) -> None:
    content = "Íñigo B-PER\nPeña I-PER\nhabló O\n\nCoruña B-LOC\n\n".encode(encoding)
    assert load(tmp_path, SPANISH, "conll2002/esp.train", content) == [
        {"words": ["Íñigo", "Peña", "habló"], "labels": ["B-PER", "I-PER", "O"]},
        {"words": ["Coruña"], "labels": ["B-LOC"]},
    ]


def test_dutch_files_have_parts_of_speech_and_documents(tmp_path: Path) -> None:
    content = (
        "-DOCSTART- -DOCSTART- O\nZoë N B-PER\nslaapt V O\n. Punc O\n\n-DOCSTART- -DOCSTART- O\nBrugge N B-LOC\n\n"
    )
    assert load(tmp_path, DUTCH, "ned.train", content.encode("latin-1")) == [
        {"words": ["Zoë", "slaapt", "."], "labels": ["B-PER", "O", "O"], "document": 0},
        {"words": ["Brugge"], "labels": ["B-LOC"], "document": 1},
    ]


@pytest.mark.parametrize("seed", range(5))
def test_the_figures_equal_those_of_seqeval(seed: int) -> None:
    draw, labels = random.Random(seed), iob_tags.iob_labels(("PER", "LOC"))
    gold = [draw.choices(labels, k=length) for length in (1, 5, 9, 14)]  # also I- tags that continue nothing
    answers = [draw.choices(labels, k=len(tags)) for tags in gold]
    scores = SPANISH.scores(pa.table({"labels": gold}), answers)
    expected = {"f1": f1_score, "precision": precision_score, "recall": recall_score}
    for name, function in expected.items():
        assert scores[name].value == pytest.approx(function(gold, answers)), name
    metric = SPANISH.metrics[0]
    assert metric.row_sums is not None
    sums = metric.row_sums.values(gold, answers).sum(axis=0, keepdims=True)
    assert metric.row_sums.scores(sums) == pytest.approx([f1_score(gold, answers)])


def test_phrases_are_read_from_tags() -> None:
    tags = ["I-PER", "I-PER", "B-PER", "O", "B-LOC", "I-ORG"]
    assert phrases(tags) == {(0, 2, "PER"), (2, 3, "PER"), (4, 5, "LOC"), (5, 6, "ORG")}
    assert SPANISH.scores(pa.table({"labels": [["O"]]}), [["O"]])["f1"].value == 0.0  # as in the script


def test_the_names_are_learned_from_the_demo_data(tmp_path: Path) -> None:
    assert DUTCH.demo_files is not None
    DUTCH.demo_files(tmp_path)
    settings = Settings(offline=True, official_counts=False)
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", data=tmp_path, settings=settings)
    offers = plugin(register_backbones=[tiny_family()], register_tasks=[DUTCH])
    runner = Runner(discover(extra=[("tiny", offers)], installed=False), workspace, Computing("cpu"))
    recipe = replace(DUTCH.recipe, lr=0.02, batch_size=8, epochs=6, max_length=64)
    fit = runner.planner.plan(DUTCH, "tiny/words", recipe=recipe)
    assert runner.run(fit).status == "done"
    value = predict(fit, "dev", runner).record.scores["f1"].value
    assert value is not None and value > 0.5  # the tiny encoder hashes all words to 93 buckets
