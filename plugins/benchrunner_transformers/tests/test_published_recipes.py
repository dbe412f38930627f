"""The published recipes of models of transformers: the tasks that they name, and a spot check against a paper."""

from __future__ import annotations

import math
from pathlib import Path

import benchrunner_transformers
from benchrunner import Recipe
from benchrunner.results import discover
from benchrunner_checkpoints import read_recipes


def test_recipes_name_tasks_that_exist() -> None:
    tasks = discover().tasks
    suites = {name.partition("/")[0] for name in tasks}
    for recipe in read_recipes(Path(benchrunner_transformers.__file__).with_name("recipes")):
        for name in recipe.by_task:
            if name.partition("/")[0] in suites:
                assert name in tasks or name in suites, (recipe.name, name)


def test_a_share_of_warmup_gives_the_published_steps() -> None:
    """Of 100 steps for DeBERTa, on the 2,490 rows of RTE."""
    plugins = discover(extra=[("transformers", benchrunner_transformers)], installed=False)
    recipe = Recipe().changed(**plugins.recipes.find("deberta-paper").values_for("glue/rte"))
    assert abs(recipe.warmup * recipe.epochs * math.ceil(2_490 / recipe.batch_size) - 100) <= 1
