"""Options of a study: how they are read from a file, and which of them replace others."""

from pathlib import Path

import pytest

from benchrunner.errors import RequestError
from benchrunner.parameters.recipes import RECIPE_FIELDS
from benchrunner.results import discover
from benchrunner.studies.planning import grid_and_seeds
from benchrunner.studies.study_options import StudyOptions
from inline import runner

CORE = discover(installed=False)


def test_options_of_a_file_are_read_like_those_of_a_command() -> None:
    texts = {"lr": "1e-3,2e-3", "batch-size": "16", "weight-decay": "0", "paper-adam": "yes", "restarts": "3"}
    options = StudyOptions.from_texts(texts, "here", CORE)
    recipe = {"lr": (1e-3, 2e-3), "batch_size": 16, "weight_decay": 0, "bias_correction": False}
    assert options == StudyOptions(recipe=recipe, restarts=3)
    for texts, reason in (
        ({"jobs": "2"}, "here: a recipe has no 'jobs'. It has: lr, epochs"),
        ({"batch_size": "2"}, "a recipe has no 'batch_size'. Did you mean batch-size"),
        ({"lr": "low"}, "here: lr must be a number from 0 up, not 'low'"),
        ({"methode": "probe"}, "Did you mean method, which stands beside recipe, not in it\\? It has"),
        ({"epoch": "2"}, "here: a recipe has no 'epoch'. Did you mean epochs or"),
        ({"select": "median"}, "here: select must be one of mean, best, not 'median'"),
        ({"paper-adam": "perhaps"}, "here: paper-adam must be true or false, not 'perhaps'"),
        ({"micro-tokens": "8,16"}, "here: micro-tokens must be a whole number from 1 to 1,000,000,000, not '8,16'"),
        ({"limit-train": "8,al"}, "here: limit-train must be a whole number from 1 to 1,000,000,000,000, or all, not"),
        ({"grid": "papr"}, "here: There is no grid 'papr'. Did you mean paper"),
        ({"preset": "paper"}, "here: There is no recipe 'paper'"),
    ):
        with pytest.raises(RequestError, match=reason):
            StudyOptions.from_texts(texts, "here", CORE)


def test_every_field_of_a_recipe_is_an_option_of_study_files() -> None:
    for name, own in RECIPE_FIELDS.items():
        if name != "sample":  # it needs limit-train
            value = 64 if name == "bilstm_width" else own.another()
            options = StudyOptions.from_texts({name.replace("_", "-"): str(value)}, "here", CORE)
            assert options.recipe == {name: (value,)}


def test_an_option_hides_those_it_replaces_at_lower_levels() -> None:
    below = StudyOptions(recipe={"lr": 1.0, "dropout": 0.2}, restarts=5)
    other = StudyOptions(recipe={"dropout": 0.1})
    assert other.over(below) == StudyOptions(recipe={"lr": 1.0, "dropout": 0.1}, restarts=5)
    assert StudyOptions(grid="paper").over(below) == StudyOptions(recipe={"dropout": 0.2}, restarts=5, grid="paper")
    assert StudyOptions(preset="a").over(below) == StudyOptions(restarts=5, preset="a")
    rate = StudyOptions(recipe={"lr": 2.0})
    assert rate.over(StudyOptions(preset="a")) == StudyOptions(recipe={"lr": 2.0}, preset="a")
    assert rate.over(StudyOptions(grid="paper")) == StudyOptions(recipe={"lr": 2.0}, grid="paper")
    assert StudyOptions(seeds=(7,)).over(below) == StudyOptions(recipe=below.recipe, seeds=(7,))
    precise = StudyOptions(recipe={"precision": "bf16"})
    assert precise.over(StudyOptions(recipe={"precision": "fp32"})) == precise
    assert StudyOptions(keep="all", method=("probe",)).over(StudyOptions(keep="none", method=("lora",))).keep == "all"


def test_values_that_only_some_fits_read_stand_in_the_grid(tmp_path: Path) -> None:
    made = runner(tmp_path)
    recipe = {"epochs": 2, "max_length": 16, "summary": ("mean", "max"), "lr": (2.0, 1.0), "batch_unit": "words"}
    with pytest.raises(RequestError, match="batch-unit is for tasks that label words: no fit of this study reads it"):
        StudyOptions(recipe=recipe).study(["words"], [made.plugins.tasks.find("mood")], made)
    del recipe["batch_unit"]
    study = StudyOptions(recipe=recipe).study(["words"], [made.plugins.tasks.find("mood")], made)
    fitting = study.fitting
    assert fitting is not None
    assert list(fitting.grid.choices.items()) == [("lr", (2.0, 1.0)), ("epochs", (2,)), ("summary", ("mean", "max"))]
    assert fitting.changes == {"max_length": 16, "precision": "fp32"}
    probes, _ = grid_and_seeds(fitting, study.tasks[0], made.plugins.methods.find("probe"))
    assert [recipe.summary for recipe in probes] == ["mean", "max"]
    frozen, _ = grid_and_seeds(fitting, study.tasks[0], made.plugins.methods.find("features"))
    assert [recipe.lr for recipe in frozen] == [2.0, 1.0], "no BiLSTM reads a summary"
