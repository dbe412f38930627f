"""Encoders of the Hugging Face hub for benchrunner: all text models of the library transformers, by path or hub id."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import hookimpl

if TYPE_CHECKING:
    from benchrunner import NamedRecipe
    from benchrunner.engine import BackboneFamily


@hookimpl
def register_backbones() -> Iterator[BackboneFamily]:
    from benchrunner_transformers.backbones import TransformersFamily

    yield TransformersFamily()


@hookimpl
def register_recipes() -> Iterator[NamedRecipe]:
    from benchrunner_checkpoints import read_recipes

    yield from read_recipes(Path(__file__).with_name("recipes"))
