"""BERT for benchrunner: the released models, any checkpoint in the hub's layout, and fresh weights of any size."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from benchrunner import NamedRecipe, hookimpl
from benchrunner.engine import BackboneFamily
from benchrunner_bert.elmo.backbones import ElmoFamily
from benchrunner_bert.family import BertFamily
from benchrunner_bert.recipes import BERT, MOSBACH


@hookimpl
def register_backbones() -> Iterator[BackboneFamily]:
    yield BertFamily()
    yield ElmoFamily()


@hookimpl
def register_recipes() -> Iterator[NamedRecipe]:
    yield BERT
    yield MOSBACH


@hookimpl
def register_commands(cli: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    about = "train a BERT from raw text; the result is a backbone"
    cli.add_parser("pretrain", help=about, module="benchrunner_bert.pretraining.command")
