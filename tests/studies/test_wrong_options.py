"""Options of a study that have a wrong kind or an absurd size: each is refused with one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from benchrunner import RequestError
from benchrunner.results import Grid, Study, StudyOptions
from benchrunner.runs.local_executor import Local
from inline import mood

WRONG: dict[str, tuple[Any, str]] = {
    "family": (3, "The option family is a name, so it cannot be 3."),
    "preset": (3, "The option preset is a name"),
    "grid": (["paper"], "The option grid is a name"),
    "method": ("lora", "The option method is a tuple of values, such as ('lora',), so it cannot be 'lora'."),
    "select_by": (3, "The option select_by is a name"),
    "lr": (1e-3, "The option lr is a tuple of values, such as (1,), so it cannot be 0.001."),
    "epochs": (3, "The option epochs is a tuple of values"),
    "batch_size": ([8], "The option batch_size is a tuple of values"),
    "seeds": ("012", "The option seeds is a tuple of values"),
    "parameters": ({"lora.rank": 4}, "The parameter lora.rank is a tuple of values, such as (8,), so it cannot be 4."),
    "restarts": (10**9, "restarts must be at most 10,000, not 1,000,000,000."),
    "max_length": (10**12, "A recipe's max_length must be at most 10,000,000, not 1,000,000,000,000."),
    "stride": (10**12, "A recipe's stride must be at most 10,000,000"),
    "micro_tokens": (10**30, "A recipe's micro_tokens must be at most 1,000,000,000, not about 10^30."),
    "limit_train": (10**30, "A recipe's limit_train must be at most 1,000,000,000,000, not about 10^30."),
    "bilstm_width": (10**9, "A recipe's bilstm_width must be at most 65,536"),
    "redraw_layers": (1.5, "A recipe's redraw_layers is of the kind int"),
    "layer_decay": ("x", "A recipe's layer_decay is of the kind float"),
    "summary": (3, "A recipe's summary is of the kind str"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_value_of_a_wrong_kind_is_refused(name: str) -> None:
    value, message = WRONG[name]
    with pytest.raises(RequestError) as refused:
        StudyOptions(**{name: value})
    assert message in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("epochs", 10**9, "A recipe's epochs must be at most 1,000,000, not 1,000,000,000."),
        ("epochs", 10**5_000, "A recipe's epochs must be at most 1,000,000, not about 10^5000."),
        ("batch_size", 10**12, "A recipe's batch_size must be at most 10,000,000, not 1,000,000,000,000."),
        ("seeds", 10**30, "A seed is a whole number from 0 to 9,223,372,036,854,775,807, not about 10^30."),
        ("seeds", -1, "A seed is a whole number from 0 to 9,223,372,036,854,775,807, not -1."),
    ],
    ids=["epochs", "5,000 digits", "batch size", "large seed", "negative seed"],
)
def test_an_absurd_number_in_a_list_is_refused(name: str, value: int, message: str) -> None:
    with pytest.raises(RequestError) as refused:
        StudyOptions(**{name: (1, value)})  # type: ignore[arg-type]
    assert str(refused.value) == message


def test_a_grid_of_too_many_points_is_reckoned_and_refused() -> None:
    numbers = tuple(range(1, 10_001))
    with pytest.raises(RequestError, match=r"The grid has 1,000,000,000,000 combinations of lr, epochs, batch_size"):
        Grid({"lr": numbers, "epochs": numbers, "batch_size": numbers})


def test_a_study_of_too_many_fits_is_refused() -> None:
    grid = Grid({"epochs": tuple(range(1, 1_001))})
    with pytest.raises(RequestError, match="A study has at most 1,000,000 fits, and this one has 10,000,000"):
        Study(("model",), (mood(),), grid=grid, seeds=tuple(range(10_000)))


@pytest.mark.parametrize(
    ("jobs", "message"), [(10**30, "must be at most 1,024, not about 10^30."), (0, "must be at least 1, not 0.")]
)
def test_an_absurd_number_of_jobs_is_refused(jobs: int, message: str) -> None:
    with pytest.raises(RequestError) as refused:
        Local(jobs)
    assert str(refused.value) == f"--jobs {message}"
