"""Options of a study: how they are read from a file, and which of them replace others."""

from __future__ import annotations

import pytest

from benchrunner.errors import RequestError
from benchrunner.results import discover
from benchrunner.studies.study_options import StudyOptions

CORE = discover(installed=False)


def test_options_of_a_file_are_read_like_those_of_a_command() -> None:
    options = StudyOptions.read({"lr": "1e-3,2e-3", "batch-size": "16", "restarts": "3"}, "here", CORE)
    assert options.given == {"lr": (1e-3, 2e-3), "batch_size": (16,), "restarts": 3}
    for texts, reason in (
        ({"jobs": "2"}, "here: a recipe has no 'jobs'. It has: lr, epochs"),
        ({"batch_size": "2"}, "a recipe has no 'batch_size'"),
        ({"lr": "low"}, "here: lr: 'low' is not a number; give one, such as 2e-5"),
        (
            {"methode": "probe"},
            "Did you mean method, which stands beside recipe, not in it\\? It has",
        ),
        ({"epoch": "2"}, "here: a recipe has no 'epoch'. Did you mean epochs\\? It has: lr, epochs"),
        ({"select": "median"}, "here: select must be mean or best, not 'median'"),
        ({"paper-adam": "yes"}, "here: paper-adam: 'yes' is neither true nor false"),
        ({"grid": "papr"}, "here: There is no grid 'papr'. Did you mean paper"),
        ({"preset": "paper"}, "here: There is no recipe 'paper'"),
    ):
        with pytest.raises(RequestError, match=reason):
            StudyOptions.read(texts, "here", CORE)


def test_an_option_hides_those_it_replaces_at_lower_levels() -> None:
    below = StudyOptions(lr=(1.0,), restarts=5, dropout=0.2)
    assert StudyOptions(dropout=0.1).over(below) == StudyOptions(lr=(1.0,), restarts=5, dropout=0.1)
    assert StudyOptions(grid="paper").over(below) == StudyOptions(restarts=5, dropout=0.2, grid="paper")
    assert StudyOptions(preset="a").over(below) == StudyOptions(restarts=5, preset="a")
    assert StudyOptions(lr=(2.0,)).over(StudyOptions(preset="a")) == StudyOptions(lr=(2.0,), preset="a")
    assert StudyOptions(seeds=(7,)).over(below) == StudyOptions(lr=(1.0,), dropout=0.2, seeds=(7,))
    assert StudyOptions(lr=(2.0,)).over(StudyOptions(grid="paper")) == StudyOptions(lr=(2.0,), grid="paper")
    assert StudyOptions(paper_adam=False).over(StudyOptions(paper_adam=True)).paper_adam is False
    assert StudyOptions(precision="bf16").over(below).precision == "bf16"
