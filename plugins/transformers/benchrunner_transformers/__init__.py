"""Encoders of the Hugging Face hub for benchrunner: all text models of the library transformers, by path or hub id."""

from __future__ import annotations

from collections.abc import Iterator

from benchrunner import NamedRecipe, hookimpl
from benchrunner.engine import BackboneFamily
from benchrunner_transformers.backbones import TransformersFamily
from benchrunner_transformers.recipes import RECIPES


@hookimpl
def register_backbones() -> Iterator[BackboneFamily]:
    yield TransformersFamily()


@hookimpl
def register_recipes() -> Iterator[NamedRecipe]:
    yield from RECIPES
