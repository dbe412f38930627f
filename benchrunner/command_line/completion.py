"""Completion of words in a shell, with the package argcomplete if it is installed (`benchrunner[completion]`)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator

from benchrunner.command_line.parser import Parser
from benchrunner.plugins.registry import Plugins

_KINDS = {
    "TASK": ("tasks",),
    "B": ("backbones",),
    "BOARD": ("leaderboards",),
    "ITEM": ("leaderboards", "recipes"),
    "--study": ("studies",),
    "--method": ("methods",),
    "--executor": ("executors",),
    "--search": ("searches",),
    "--recipe": ("recipes",),
}
"""Placeholder or option -> kinds of names that complete it."""


def complete(parser: argparse.ArgumentParser, plugins: Plugins) -> None:
    """Print completions and end the process if a shell asks for them; do nothing otherwise."""
    if "_ARGCOMPLETE" not in os.environ:
        return
    try:
        import argcomplete
    except ImportError:
        return
    from benchrunner.plugins.listing import KINDS, list_offers

    offers = list_offers(plugins)
    for action in _actions(parser):
        kinds = next((_KINDS[key] for key in (action.metavar, *action.option_strings) if key in _KINDS), ())
        if kinds:
            names = [listed.name for kind in kinds for listed in offers[kind]]
            action.completer = _completer(names)  # type: ignore[attr-defined]
        elif action.metavar == "KIND":
            action.completer = _completer(KINDS)  # type: ignore[attr-defined]
        elif "--grid" in action.option_strings:
            action.completer = _completer(plugins.grids)  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)


def _completer(names: Iterable[str]) -> Callable[..., list[str]]:
    return lambda **context: list(names)


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of all its commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            parsers: Iterable[argparse.ArgumentParser] = action.choices.values()
            for command in parsers:
                if isinstance(command, Parser):
                    command.load_module()
                yield from _actions(command)
        else:
            yield action
