"""Completion of words in a shell, with the package argcomplete if it is installed (`benchrunner[completion]`)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from benchrunner.plugins.registry import Plugins

_KINDS = {
    "TASK": "tasks",
    "B": "backbones",
    "BOARD": "leaderboards",
    "ITEM": "leaderboards recipes",
    "--study": "studies",
    "--method": "methods",
    "--executor": "executors",
    "--search": "searches",
    "--recipe": "recipes",
}
"""Placeholder or option -> kinds of names that complete it, with blanks between them."""


def complete(parser: argparse.ArgumentParser, plugins: Plugins) -> None:
    """Print completions and end the process if a shell asks for them; do nothing otherwise."""
    if "_ARGCOMPLETE" not in os.environ:
        return
    try:
        import argcomplete
    except ImportError:
        return
    from benchrunner.plugins.listing import KINDS, list_names

    names = {**list_names(plugins), "KIND": KINDS, "--grid": plugins.grids}
    for action in _actions(parser):
        words = list[str]()
        for key in (str(action.metavar), *action.option_strings):
            for kind in _KINDS.get(key, key).split():
                words += names.get(kind, [])
        if words:
            action.completer = lambda words=words, **context: words  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of all its commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action._name_parser_map.values():
                command.load_module()
                yield from _actions(command)
        else:
            yield action
