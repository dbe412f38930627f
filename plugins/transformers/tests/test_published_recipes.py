"""The published recipes of models of transformers: spot checks against the papers, and the tasks that they name."""

from __future__ import annotations

import math

import pytest

import benchrunner_transformers
from benchrunner import Recipe
from benchrunner.results import Grid, Plugins, discover
from benchrunner_transformers.recipes import RECIPES, ROWS

NAMES = {
    *("roberta-paper", "albert-paper", "xlnet-paper", "electra-paper", "electra-large-paper", "deberta-paper"),
    *("deberta-large-paper", "deberta-v3-paper", "modernbert-paper", "modernbert-large-paper"),
}


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return discover(extra=[("transformers", benchrunner_transformers)], installed=False)


def test_each_recipe_has_a_source_with_a_year(plugins: Plugins) -> None:
    assert set(plugins.recipes) == NAMES
    assert all("et al. 20" in recipe.source for recipe in RECIPES)


PUBLISHED = {
    # Liu et al. 2019, Table 10: GLUE has 6 % warm-up, 0.1 weight decay, 10 epochs; SQuAD 1.5e-5, 48, 0.01, 2 epochs
    ("roberta-paper", "glue/rte"): {"lr": 2e-5, "batch_size": 16, "epochs": 10, "weight_decay": 0.1, "warmup": 0.06},
    ("roberta-paper", "squad/2.0"): {"lr": 1.5e-5, "batch_size": 48, "epochs": 2, "weight_decay": 0.01, "beta2": 0.98},
    # Clark et al. 2020, the released code
    ("electra-paper", "glue/rte"): {"lr": 1e-4, "epochs": 10, "layer_decay": 0.8, "batch_size": 32},
    ("electra-large-paper", "glue/cola"): {"lr": 5e-5, "epochs": 3, "layer_decay": 0.9},
    ("electra-large-paper", "squad/1.1"): {"epochs": 2, "max_length": 512},
    # Lan et al. 2020, Table 14: QQP has 5e-5, batch size 128, 14,000 steps, 1,000 of warm-up, 512 tokens
    ("albert-paper", "glue/qqp"): {"lr": 5e-5, "batch_size": 128, "epochs": 5, "warmup": 0.0714, "max_length": 512},
    # Warner et al. 2024, Table 6: CoLA of the base model has 8e-5, weight decay 1e-6, 5 epochs
    ("modernbert-paper", "glue/cola"): {"lr": 8e-5, "weight_decay": 0.0125, "epochs": 5, "batch_size": 64},
    # Yang et al. 2019, Table 8
    ("xlnet-paper", "squad/2.0"): {"lr": 3e-5, "batch_size": 48, "max_length": 512, "weight_decay": 0.01},
    # He et al. 2023, the script of MNLI
    ("deberta-v3-paper", "glue/mnli"): {"lr": 7e-6, "epochs": 2, "batch_size": 64, "max_length": 256},
}


@pytest.mark.parametrize(("name", "task"), PUBLISHED)
def test_a_tasks_values_are_those_of_the_publication(plugins: Plugins, name: str, task: str) -> None:
    values = plugins.recipes.find(name).values_for(task)
    assert {field: values[field] for field in PUBLISHED[name, task]} == PUBLISHED[name, task]


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


def test_robertas_grid_has_six_points(plugins: Plugins) -> None:
    assert len(list(Grid(plugins.grid("roberta-paper")).points(Recipe()))) == 6


def test_recipes_name_tasks_and_row_counts_that_exist() -> None:
    tasks = discover().tasks
    suites = {name.partition("/")[0] for name in tasks}
    for recipe in RECIPES:
        for name in recipe.by_task:
            if name.partition("/")[0] in suites:
                assert name in tasks or name in suites, (recipe.name, name)
    for name, rows in ROWS.items():
        if name in tasks:
            assert tasks[name].splits["train"].rows == rows
