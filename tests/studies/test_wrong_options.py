"""Options of a study that are given from Python with values of a wrong kind: one sentence each."""

from __future__ import annotations

from typing import Any

import pytest

from benchrunner import RequestError, StudyOptions

WRONG: dict[str, tuple[Any, str]] = {
    "family": (3, "The option family is a name, so it cannot be 3."),
    "preset": (3, "The option preset is a name"),
    "grid": (["paper"], "The option grid is a name"),
    "method": (3, "The option method is a name"),
    "select_by": (3, "The option select_by is a name"),
    "lr": (1e-3, "The option lr is a tuple of values, such as (1,), so it cannot be 0.001."),
    "epochs": (3, "The option epochs is a tuple of values"),
    "batch_size": ([8], "The option batch_size is a tuple of values"),
    "seeds": ("012", "The option seeds is a tuple of values"),
    "lora_rank": (16_385, "A recipe's lora_rank must be at most 16,384, not 16,385."),
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
