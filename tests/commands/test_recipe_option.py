"""Named recipes on the command line: the option `--recipe`, and `list recipes`."""

import json
from pathlib import Path

import pytest

from benchrunner import NamedRecipe
from benchrunner.io.json_form import as_json
from command_line import Shell
from inline import mood, plugins
from study_texts import COLUMN, HEAD, SYSTEM, write_study

FAST = NamedRecipe(
    name="fast-paper",
    about="few steps",
    source="Nobody 2019, Table 2",
    values={"epochs": 1, "beta2": 0.98},
    by_task={"mine/mood": {"clip": 2.0}},
    grid={"lr": (0.01, 0.02)},
    notes="its learning rate fell by cosine",
)
QUIET = ("--quiet", "--device", "cpu")
NOTE = "recipe fast-paper: Nobody 2019, Table 2; its learning rate fell by cosine"


@pytest.fixture
def fast(shell: Shell) -> Shell:
    shell.plugins = plugins(register_tasks=[mood()], register_recipes=[FAST])
    return shell


def recipe_of_the_only_fit(shell: Shell) -> dict[str, object]:
    fits = [json.loads(path.read_text()) for path in (shell.folder / "runs").glob("*/fit.json")]
    [recipe] = [fit["recipe"] for fit in fits if fit["method"] == "finetune"]
    return dict(recipe)


def test_compare_fits_with_the_recipe_and_says_so(fast: Shell) -> None:
    words = ("compare", "words", "--tasks", "mood", *fast.folders(), *QUIET, "--recipe", "fast-paper", "--lr", "0.05")
    out = fast.done(*words, "--notes")
    assert NOTE in " ".join(out.split())
    recipe = recipe_of_the_only_fit(fast)
    assert [recipe[name] for name in ("epochs", "beta2", "clip", "lr")] == [1, 0.98, 2.0, 0.05]
    out = fast.done(*words, "--json")
    assert json.loads(out)["recipe"] == as_json(FAST)


def test_a_study_file_may_name_a_recipe(fast: Shell) -> None:
    path = write_study(Path(), HEAD + SYSTEM + 'recipe = {preset = "fast-paper", lr = "0.05"}\n' + COLUMN)
    out = fast.done("compare", "--study", str(path), *fast.folders(), *QUIET, "--notes")
    assert NOTE in " ".join(out.split())
    assert recipe_of_the_only_fit(fast)["beta2"] == 0.98


def test_list_shows_recipes_and_the_values_of_one(fast: Shell) -> None:
    out = fast.done("list", "recipes")
    assert "  fast-paper  few steps\n" in out
    code, out, _ = fast("list", "recipes", "fast-paper")
    assert (code, out.splitlines()) == (
        0,
        [
            "fast-paper: few steps (Nobody 2019, Table 2)",
            "  every task  epochs 1, beta2 0.98",
            "  mine/mood   clip 2.0",
            "  --grid fast-paper tries lr 0.01, 0.02",
            "  its learning rate fell by cosine",
        ],
    )
    out = fast.done("list", "recipes", "fast-paper", "--json")
    assert json.loads(out) == {"recipes": [as_json(FAST)]}
    for words in (("list", "recipes", "fast-papr"), ("run", "mood", "--backbone", "words", "--recipe", "fast-papr")):
        assert "There is no recipe 'fast-papr'. Did you mean fast-paper?" in fast.refused(*words)
