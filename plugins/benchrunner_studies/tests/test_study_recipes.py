"""Recipes of study files: how options are read from texts."""

import pytest

from benchrunner.errors import RequestError
from benchrunner.parameters.recipes import RECIPE_FIELDS
from benchrunner.results import StudyOptions, discover
from benchrunner_kit.testing.method_checks import another
from benchrunner_studies.recipes import read_recipe

CORE = discover(installed=False)


def test_options_of_a_file_are_read_like_those_of_a_command() -> None:
    texts = {"lr": "1e-3,2e-3", "batch-size": "16", "weight-decay": "0", "bias-correction": "no", "restarts": "3"}
    options = read_recipe(texts, "here", CORE)
    recipe = {"lr": (1e-3, 2e-3), "batch_size": 16, "weight_decay": 0, "bias_correction": False}
    assert options == StudyOptions(recipe=recipe, restarts=3)
    for texts, reason in (
        ({"jobs": "2"}, "here: a recipe has no 'jobs'. It has: lr, epochs"),
        ({"batch_size": "2"}, "a recipe has no 'batch_size'. Did you mean batch-size"),
        ({"lr": "low"}, "here: lr must be a number from 0 up, not 'low'"),
        ({"methode": "probe"}, "Did you mean method, which stands beside recipe, not in it\\? It has"),
        ({"epoch": "2"}, "here: a recipe has no 'epoch'. Did you mean epochs or"),
        ({"select": "median"}, "here: select must be one of mean, best, not 'median'"),
        ({"bias-correction": "perhaps"}, "here: bias-correction must be true or false, not 'perhaps'"),
        ({"micro-tokens": "8,16"}, "here: micro-tokens must be a whole number from 1 to 1,000,000,000, not '8,16'"),
        ({"limit-train": "8,al"}, "here: limit-train must be a whole number from 1 to 1,000,000,000,000, or all, not"),
        ({"grid": "papr"}, "here: There is no grid 'papr'. Did you mean paper"),
        ({"preset": "paper"}, "here: There is no recipe 'paper'"),
    ):
        with pytest.raises(RequestError, match=reason):
            read_recipe(texts, "here", CORE)


def test_every_field_of_a_recipe_is_an_option_of_study_files() -> None:
    for name, own in RECIPE_FIELDS.items():
        if name != "sample":  # it needs limit-train
            value = 64 if name == "bilstm_width" else another(own)
            options = read_recipe({name.replace("_", "-"): str(value)}, "here", CORE)
            assert options.recipe == {name: (value,)}
