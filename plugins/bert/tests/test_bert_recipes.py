"""The named recipes of BERT: the default, and a stable one for small data."""

from __future__ import annotations

import benchrunner_bert
from benchrunner import Recipe
from benchrunner.results import discover


def test_the_papers_recipe_is_the_default_one() -> None:
    plugins = discover(extra=[("bert", benchrunner_bert)], installed=False)
    assert list(plugins.recipes) == ["bert-paper", "mosbach"]
    assert Recipe().changed(**plugins.recipes.find("bert-paper").values) == Recipe()
    assert plugins.grid("bert-paper") == plugins.grid("paper")
