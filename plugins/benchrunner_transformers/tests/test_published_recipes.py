"""The published recipes of models of transformers: spot checks against the papers, and the tasks that they name."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import benchrunner_transformers
from benchrunner import Recipe
from benchrunner.results import Plugins, discover
from benchrunner_checkpoints import read_recipes

ROWS = {
    "glue/cola": 8_551,
    "glue/mnli": 392_702,
    "glue/mrpc": 3_668,
    "glue/qnli": 104_743,
    "glue/qqp": 363_846,
    "glue/rte": 2_490,
    "glue/sst2": 67_349,
    "glue/stsb": 5_749,
}
"""Training rows of GLUE. With them, a published number of warm-up steps becomes a share of all steps."""


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return discover(extra=[("transformers", benchrunner_transformers)], installed=False)


@pytest.mark.parametrize(
    ("name", "task", "steps"),
    [
        ("deberta-paper", "glue/rte", 100),
        ("deberta-large-paper", "glue/mnli", 1000),
        ("deberta-v3-paper", "glue/qqp", 1000),
    ],
)
def test_a_share_of_warmup_gives_the_published_steps(plugins: Plugins, name: str, task: str, steps: int) -> None:
    recipe = Recipe().changed(**plugins.recipes.find(name).values_for(task))
    total = recipe.epochs * math.ceil(ROWS[task] / recipe.batch_size)
    assert abs(recipe.warmup * total - steps) <= 1 + steps / 500


def test_published_steps_of_albert_are_about_whole_epochs(plugins: Plugins) -> None:
    steps = {
        "cola": 5336,
        "stsb": 3598,
        "sst2": 20935,
        "mnli": 10000,
        "qnli": 33112,
        "qqp": 14000,
        "rte": 800,
        "mrpc": 800,
    }
    for task, count in steps.items():
        values = plugins.recipes.find("albert-paper").values_for(f"glue/{task}")
        assert abs(count * values["batch_size"] / ROWS[f"glue/{task}"] - values["epochs"]) < 0.35


def test_recipes_name_tasks_and_row_counts_that_exist() -> None:
    tasks = discover().tasks
    suites = {name.partition("/")[0] for name in tasks}
    for recipe in read_recipes(Path(benchrunner_transformers.__file__).with_name("recipes")):
        for name in recipe.by_task:
            if name.partition("/")[0] in suites:
                assert name in tasks or name in suites, (recipe.name, name)
    for name, rows in ROWS.items():
        if name in tasks:
            assert tasks[name].splits["train"].rows == rows
