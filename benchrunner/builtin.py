"""Plugin of the core: the built-in methods, executor and commands, registered through the same hooks as others.

A hook imports what it offers: what a command does not ask for is not loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from benchrunner.fits.executor import Executor
    from benchrunner.fits.search import Search
    from benchrunner.methods.method import Method
    from benchrunner.plugins.hookspecs import Commands

COMMANDS = {
    "list": "list tasks, backbones, methods, leaderboards, executors, recipes, studies and plugins",
    "doctor": "show versions, devices, folders and plugins, what is wrong with them, and what to do",
    "data": "show where each task's data was found and whether it can be used; download what is missing",
    "run": "fit one backbone to one or a few tasks, and score dev",
    "compare": "fit several backbones to several tasks with a grid and restarts, and print a table",
}
"""Built-in command -> what it does. Its code is in `benchrunner/commands`, in the module NAME_command."""


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
def register_searches() -> Iterator[Search]:
    from benchrunner.fits.search import Search
    from benchrunner.studies.searching.lines import halving

    yield Search("halving", "of trainings of several lengths, the best third goes on to the next length", halving)


@hookimpl
def register_commands(cli: Commands) -> None:
    for name, about in COMMANDS.items():
        cli.add_parser(name, help=about, module=f"benchrunner.commands.{name}_command")
