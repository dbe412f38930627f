"""Options of a study that have a wrong kind or an absurd size: each is refused with one sentence."""

from typing import Any

import pytest

from benchrunner import RequestError
from benchrunner.parameters.declared import parameters_of
from benchrunner.results import Grid, StudyOptions
from benchrunner.runs.local_executor import Local

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "method": ({"method": "lora"}, "The option method must be a tuple, each part a text, not 'lora'."),
    "seeds": ({"seeds": "012"}, "The option seeds must be a tuple, each part a whole number from 0 to 9,223,372,"),
    "large seed": (
        {"seeds": (1, 10**30)},
        "from 0 to 9,223,372,036,854,775,807, not 1,000,000,000,000,000,000,000,000,000,000.",
    ),
    "restarts": ({"restarts": 10**9}, "The option restarts must be a whole number from 1 to 10,000, not"),
    "both": ({"restarts": 2, "seeds": (1,)}, "Give the restarts once: by seeds, restarts"),
    "three folds": ({"folds": (5, 3, 2)}, "or the second number of folds 5x3."),
    "recipe": ({"recipe": "paper"}, "The option recipe is a mapping, so it cannot be 'paper'."),
    "unknown": ({"recipe": {"epoch": 3}}, "A recipe has no 'epoch'. Did you mean epochs or epsilon?"),
    "nothing": ({"recipe": {"lr": ()}}, "The option recipe maps each name to one value or more, not 'lr' to ()."),
    "zero": ({"recipe": {"lr": (1e-5, 0)}}, "With a learning rate of 0 nothing is learned"),
    "no grid": ({"recipe": {"micro_tokens": (8, 16)}}, "The option micro-tokens has one value for all fits, not 2."),
    "no rows": (
        {"recipe": {"limit_train": (8, 0)}},
        "limit_train must be a whole number from 1",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_value_that_cannot_be_is_refused(name: str) -> None:
    values, message = WRONG[name]
    with pytest.raises(RequestError) as refused:
        StudyOptions(**values)
    assert message in str(refused.value) and "\n" not in str(refused.value)


def test_a_grid_of_too_many_points_is_reckoned_and_refused() -> None:
    numbers = tuple(range(1, 10_001))
    with pytest.raises(RequestError, match=r"The grid has 1,000,000,000,000 combinations of lr, epochs, batch_size"):
        Grid({"lr": numbers, "epochs": numbers, "batch_size": numbers})


@pytest.mark.parametrize(("jobs", "message"), [(10**30, f"{10**30:,}"), (0, "0")])
def test_an_absurd_number_of_jobs_is_refused(jobs: int, message: str) -> None:
    with pytest.raises(RequestError) as refused:
        Local(jobs)
    assert str(refused.value) == f"--jobs must be a whole number from 1 to 1,024, not {message}."


@pytest.mark.parametrize("folds", ["5x", "x3", "5xx2"])
def test_a_number_that_is_missing_shows_the_whole_text(folds: str) -> None:
    with pytest.raises(RequestError, match=f"folds must be a whole number from 1 up, not '{folds}'"):
        parameters_of(StudyOptions)["folds"].read(folds, "folds")
