"""The tasks keep their contract, and their files are read as the organizers wrote them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchrunner import Task, Workspace
from benchrunner.results import Computing, Runner, discover
from benchrunner.runs.predicting import predict
from benchrunner.workspace import Settings
from benchrunner_conll2002 import register_tasks
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
