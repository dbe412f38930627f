"""Plugin of the core: the built-in methods, executor and commands, registered through the same hooks as others.

A hook imports what it offers: what a command does not ask for is not loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from benchrunner.fits.executor import Executor
    from benchrunner.methods.method import Method
    from benchrunner.plugins.hookspecs import Commands

COMMANDS = (
    ("list", "look", "list tasks, backbones, leaderboards, studies and plugins"),
    ("doctor", "look", "show versions, devices, folders and plugins, and faults of them"),
    ("run", "compare", "fit one backbone to one or a few tasks"),
    ("compare", "start", "fit backbones to tasks, or reproduce a paper with --study; print a table"),
)
"""Built-in commands: name, group and what it does. The code is the module NAME_command in `benchrunner/commands`."""


@hookimpl
def register_methods() -> Iterator[Method]:
    from benchrunner.methods.finetune import Finetune
    from benchrunner.methods.majority import Majority

    yield Finetune()
    yield Majority()


@hookimpl
def register_executors() -> Iterator[Executor]:
    from benchrunner.runs.local_executor import Local

    yield Local()


@hookimpl
def register_commands(cli: Commands) -> None:
    for name, group, about in COMMANDS:
        cli.add_parser(name, group=group, help=about, module=f"benchrunner.commands.{name}_command")
