"""Commands that plugins register: a broken command is set aside, and none can change those of another plugin."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from typing import Any

from benchrunner.command_line.parser import Parser
from benchrunner.console.printing import value_text
from benchrunner.errors import PluginError
from benchrunner.plugins.loading import Loading
from benchrunner.plugins.registry import Plugins


def add_commands(commands: argparse._SubParsersAction[Any], plugins: Plugins, *, prog: str) -> None:
    """Add the commands of all plugins; commands of a plugin that fails are left out, and `doctor` says why."""
    with Loading() as loading:
        for hook in plugins.hook.register_commands.get_hookimpls():
            owner, where = hook.plugin_name, "register_commands: "
            with plugins.setting_aside(owner, where), loading.plugin(owner):
                own = Parser(prog=prog).add_subparsers(prog=prog)  # others' are out of the plugin's reach
                hook.function(*([own] if hook.argnames else []))
                for name, parser in own.choices.items():
                    with plugins.setting_aside(owner, where):
                        summary = [action for action in own._choices_actions if action.dest == name]
                        _check(name, parser, commands.choices, summary)
                        parser.set_defaults(plugin_of_command=owner, name_of_command=name)
                        parser.set_defaults(plugins=plugins, commands=commands.choices)
                        commands.choices[name] = parser
                        commands._choices_actions += summary


def _check(name: Any, parser: Any, known: Mapping[str, Any], summary: Sequence[argparse.Action]) -> None:
    """Raise a `PluginError` if a command cannot be used; `summary` has its line of `--help`, if there is one."""
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
        raise PluginError(f"{value_text(name)} is not a name of a command: it must be of letters, digits and hyphens")
    if name in known:
        owner = known[name].get_default("plugin_of_command")
        raise PluginError(f"there is a command '{name}' already, from the plugin '{owner}'")
    if not isinstance(parser, argparse.ArgumentParser):
        raise PluginError(f"the command '{name}' is no parser but {value_text(parser)}: add it with add_parser")
    if parser.get_default("run") is None and not getattr(parser, "module", ""):
        raise PluginError(f"the command '{name}' has no set_defaults(run=...)")
    for default in ("run", "estimate"):
        value = parser.get_default(default)
        if value is not None and not callable(value):
            raise PluginError(f"the command '{name}' has {value_text(value)} as its {default}, not a function")
    for action in summary:
        if not isinstance(action.help, str | None):
            raise PluginError(f"the command '{name}' has {value_text(action.help)} as its help, not a text")
