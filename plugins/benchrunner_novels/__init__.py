"""`bert/novels-10m`: a BERT of 10 million weights, pre-trained on public-domain novels, that needs no network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner import hookimpl

if TYPE_CHECKING:
    from benchrunner.engine import BackboneFamily

__all__ = ["register_backbones"]


@hookimpl
def register_backbones() -> Iterator[BackboneFamily]:
    from benchrunner_novels.family import Novels

    yield Novels()
