"""Protocols for benchrunner: how publications fine-tuned and selected, repeated in one command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import Commands, hookimpl

if TYPE_CHECKING:
    from benchrunner import NamedRecipe


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "repeat the protocol of a publication, beside its figures"
    cli.add_parser("reproduce", group="compare", help=about, module="benchrunner_protocols.reproduce_command")


@hookimpl
def register_recipes() -> Iterator[NamedRecipe]:
    from benchrunner_checkpoints import read_recipes

    yield from read_recipes(Path(__file__).with_name("recipes"))
