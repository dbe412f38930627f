"""Protocols for benchrunner: how publications fine-tuned and selected, as studies with a backbone of your own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import hookimpl

if TYPE_CHECKING:
    from benchrunner import NamedRecipe


@hookimpl
def register_recipes() -> Iterator[NamedRecipe]:
    from benchrunner_checkpoints import read_recipes

    yield from read_recipes(Path(__file__).with_name("recipes"))
