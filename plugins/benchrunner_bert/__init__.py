"""BERT for benchrunner: the released models, any checkpoint in the hub's layout, and fresh weights of any size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import Commands, hookimpl, named_by_stub

if TYPE_CHECKING:
    from benchrunner import NamedRecipe
    from benchrunner.engine import BackboneFamily

__getattr__, __all__ = named_by_stub(__name__, __file__)


@hookimpl
def register_backbones() -> Iterator[BackboneFamily]:
    from benchrunner_bert.family import BertFamily

    yield BertFamily()


@hookimpl
def register_recipes() -> Iterator[NamedRecipe]:
    from benchrunner_checkpoints import read_recipes

    yield from read_recipes(Path(__file__).with_name("recipes"))


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "train a BERT from raw text; the result is a backbone"
    cli.add_parser("pretrain", group="extend", help=about, module="benchrunner_bert.pretraining.command")
