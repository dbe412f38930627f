"""Recipes and grids: defaults, values that make no sense, combinations."""

from typing import Any

import pytest

from benchrunner.errors import RequestError
from benchrunner.parameters.grids import Grid
from benchrunner.parameters.recipes import Recipe

BAD: list[tuple[str, Any]] = [
    ("lr", -1e-5),
    ("lr", float("nan")),
    ("lr", "5e-5"),
    ("epochs", 0),
    ("epochs", 1.5),
    ("epochs", True),
    ("max_steps", 0),
    ("batch_size", 0),
    ("max_length", 0),
    ("warmup", 1.1),
    ("beta1", -0.1),
    ("clip", float("inf")),
    ("dropout", 1.0),
    ("precision", "auto"),
    ("limit_train", 0),
    ("batch_unit", "rows"),
    ("loss_divisor", "sentences"),
    ("micro_tokens", 0),
    ("bilstm_width", 767),
    ("layer_decay", 0.0),
    ("redraw_layers", -1),
    ("schedule", "linear"),
    ("cooldown", 2.5),
    ("epsilon", 0.0),
    ("bias_correction", 1),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_value_that_makes_no_sense_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(RequestError, match=rf"(?i){name}"):
        Recipe(**{name: value})


def test_the_defaults_are_the_papers() -> None:
    recipe = Recipe()
    assert (recipe.epochs, recipe.batch_size, recipe.max_length, recipe.warmup) == (3, 32, 128, 0.1)
    assert (recipe.beta1, recipe.beta2, recipe.epsilon, recipe.weight_decay, recipe.clip) == (0.9, 0.999, 1e-6, 0.01, 1)


def test_max_steps_limits_how_often_rows_are_read() -> None:
    assert [Recipe(max_steps=most).passes(64) for most in (None, 1, 6, 7)] == [3, 0.5, 3, 3]


def test_a_whole_number_and_the_same_rate_are_one_recipe() -> None:
    assert Recipe(lr=1, dropout=0).as_dict() == Recipe(lr=1.0, dropout=0.0).as_dict()
    assert isinstance(Recipe(lr=1).lr, float)


def test_a_recipe_is_changed_by_fields_that_it_has() -> None:
    assert Recipe().changed(epochs=4) == Recipe(epochs=4)
    with pytest.raises(RequestError, match=r"A recipe has no 'epoch'. Did you mean epochs or epsilon\? It has"):
        Recipe().changed(epoch=4)


def test_a_grid_is_every_distinct_combination_in_the_given_order() -> None:
    grid = Grid({"lr": (3e-5, 5e-5, 3e-5), "epochs": (2, 3)})
    points = [(recipe.lr, recipe.epochs) for recipe in grid.points(Recipe())]
    assert points == [(3e-5, 2), (3e-5, 3), (5e-5, 2), (5e-5, 3)]
    assert list(Grid().points(Recipe())) == [Recipe()]


def test_a_grid_knows_the_fields_and_wants_values() -> None:
    with pytest.raises(RequestError, match="has no 'learning_rate'"):
        Grid({"learning_rate": (1,)})
    with pytest.raises(RequestError, match="list for 'lr' is empty"):
        Grid({"lr": ()})
