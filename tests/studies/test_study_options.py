"""Options of a study: which of them replace others, and what only some fits read."""

from pathlib import Path

import pytest

from benchrunner.errors import RequestError
from benchrunner.studies.planning import grid_and_seeds
from benchrunner.studies.study_options import StudyOptions
from inline import runner


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
