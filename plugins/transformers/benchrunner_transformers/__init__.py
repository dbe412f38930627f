"""Encoders of the Hugging Face hub for benchrunner: all text models of the library transformers, by path or hub id."""

from __future__ import annotations

from collections.abc import Iterator

from benchrunner import BackboneFamily, hookimpl
from benchrunner_transformers.family import TransformersFamily


@hookimpl
def register_backbones() -> Iterator[BackboneFamily]:
    yield TransformersFamily()
