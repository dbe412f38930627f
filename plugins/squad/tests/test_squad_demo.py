"""The demo data: the official layout, the same bytes for the same seed, and something to learn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchrunner.testing import check_task
from benchrunner_squad import register_tasks
from benchrunner_squad.demo import QUESTIONS, WORDS, write

TASKS = {task.name: task for task in register_tasks() if task.demo_files is not None}


def questions(path: Path) -> list[dict[str, Any]]:
    return [
        one for article in json.loads(path.read_text())["data"] for part in article["paragraphs"] for one in part["qas"]
    ]


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
def test_the_task_keeps_its_contract(tmp_path: Path, task) -> None:  # type: ignore[no-untyped-def]
    check_task(task, tmp_path)


def test_demo_files_have_official_names_and_differ_by_seed(tmp_path: Path) -> None:
    for version in ("v1.1", "v2.0"):
        write(version, 1, tmp_path / "one")
        write(version, 2, tmp_path / "two")
    names = [path.relative_to(tmp_path / "one").as_posix() for path in sorted((tmp_path / "one").rglob("*.json"))]
    assert names == [f"squad/{role}-{version}.json" for role in ("dev", "train") for version in ("v1.1", "v2.0")]
    assert all((tmp_path / "one" / name).read_bytes() != (tmp_path / "two" / name).read_bytes() for name in names)


def test_version_2_0_marks_what_cannot_be_answered(tmp_path: Path) -> None:
    write("v2.0", 0, tmp_path)
    found = questions(tmp_path / "squad" / "train-v2.0.json")
    impossible = [one for one in found if one["is_impossible"]]
    assert 0.2 < len(impossible) / len(found) < 0.3
    assert all(one["answers"] == [] and one["plausible_answers"] for one in impossible)


def test_the_question_word_tells_what_kind_of_word_the_answer_is(tmp_path: Path) -> None:
    write("v1.1", 0, tmp_path)
    kinds = {question: kind for kind, some in QUESTIONS.items() for question in some}
    for one in questions(tmp_path / "squad" / "dev-v1.1.json"):
        texts = [answer["text"] for answer in one["answers"]]
        assert len(texts) == 3
        assert set(texts) <= set(WORDS[kinds[one["question"]]].split())
