"""Named recipes: which values a fit gets, and what plugins may offer."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchrunner import NamedRecipe, PluginError, Recipe, RequestError
from benchrunner.engine import Method
from benchrunner.io.decoding import from_json
from benchrunner.io.json_form import as_json
from benchrunner.results import discover
from benchrunner.studies.cells import Fitting
from benchrunner.studies.planning import grid_and_seeds
from benchrunner.studies.study_options import StudyOptions
from inline import QUICK, own, plugin, runner

FAST = NamedRecipe(
    name="fast-paper",
    about="few steps",
    source="Nobody 2019, Table 2",
    values={"epochs": 7, "batch_size": 4, "warmup": 0.06, "beta2": 0.98},
    by_task={"mine": {"epochs": 5, "clip": 0.0}, "mine/mood": {"clip": 2.0}},
    grid={"lr": (1e-5, 2e-5), "batch_size": (16, 32)},
)


def test_a_task_gets_its_own_values_then_its_suites() -> None:
    assert FAST.values_for("mine/mood") == {"epochs": 5, "batch_size": 4, "warmup": 0.06, "beta2": 0.98, "clip": 2.0}
    assert FAST.values_for("mine/other")["clip"] == 0.0
    assert FAST.values_for("yours/mood") == FAST.values


class Frozen(Method):
    """A method with defaults of its own."""

    name, about = "frozen", "for this test"
    recipe_defaults = {"epochs": 50, "lr": 0.5}

    def fit(self, job: Any) -> Any: ...

    def predict(self, job: Any, table: Any) -> Any: ...


def test_a_preset_stands_between_methods_and_options(tmp_path: Path) -> None:
    made = runner(tmp_path, register_recipes=[FAST], register_methods=[Frozen()])
    task, method = made.plugins.tasks.find("mood"), made.plugins.methods.find("frozen")
    study = StudyOptions(recipe={"batch_size": 6, "dropout": 0.3}, preset="fast-paper", method=("frozen",)).study(
        ["a"], [task], made
    )
    assert study.fitting is not None
    [recipe], _ = grid_and_seeds(study.fitting, task, method)
    expected = QUICK.changed(lr=0.5, epochs=5, batch_size=6, warmup=0.06, beta2=0.98, clip=2.0, dropout=0.3)
    assert recipe == expected
    without = StudyOptions(method=("frozen",)).study(["a"], [task], made)
    assert without.fitting is not None
    assert grid_and_seeds(without.fitting, task, method)[0] == [QUICK.changed(lr=0.5, epochs=50)]


def test_a_recipes_grid_can_be_asked_for_by_its_name(tmp_path: Path) -> None:
    made = runner(tmp_path, register_recipes=[FAST])
    fitting = (
        StudyOptions(grid="fast-paper", recipe={"batch_size": 6})
        .study(["a"], [made.plugins.tasks.find("mood")], made)
        .fitting
    )
    assert fitting is not None and fitting.preset is None
    assert fitting.grid.choices == {"lr": (1e-5, 2e-5), "batch_size": (6,)}
    assert list(fitting.grid.points(Recipe()))[1] == Recipe(lr=2e-5, batch_size=6)


def test_a_kept_study_has_the_whole_named_recipe() -> None:
    fitting = Fitting(preset=FAST)
    assert from_json(Fitting, json.loads(json.dumps(as_json(fitting, defaults=False))), "study.json") == fitting
    assert "preset" not in as_json(Fitting(), defaults=False)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"source": ""}, "The recipe 'fast-paper' needs a text as its `source`."),
        ({"about": None}, "needs a text as its `about`"),
        ({"values": {"warm_up": 0.1}}, "The recipe 'fast-paper': A recipe has no 'warm_up'"),
        ({"by_task": {"mine": {"lr": -1.0}}}, "A recipe's lr must be a number from 0 up"),
        ({"values": {"precision": "fp32"}}, "A named recipe cannot set precision."),
        ({"grid": {"lr": ()}}, "The grid's list for 'lr' is empty."),
        ({"grid": {"epochs": (3, 0.5)}}, "A recipe's epochs must be a whole number from 1 to 1,000,000, not 0.5"),
        ({"grid": {"limit_train": (8,)}}, "A named recipe cannot set limit_train."),
    ],
)
def test_a_wrong_recipe_is_an_error_that_names_it(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(PluginError, match=reason):
        NamedRecipe(**(vars(FAST) | changes))


def test_two_plugins_may_not_offer_one_recipe() -> None:
    offers = [("own", own(register_recipes=[FAST])), ("rival", plugin(register_recipes=[FAST]))]
    both = discover(extra=offers, installed=False)
    assert "fast-paper" not in both.recipes
    with pytest.raises(RequestError, match="The recipe 'fast-paper' is offered by the plugins own and rival: choose"):
        both.recipes.find("fast-paper")
