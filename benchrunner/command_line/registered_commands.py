"""Commands that plugins register: a broken command is set aside, and none can change those of another plugin."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from typing import Any

from benchrunner.command_line.parser import Parser
from benchrunner.errors import PluginError
from benchrunner.io.messages import quoted
from benchrunner.plugins.loading import Loading
from benchrunner.plugins.registry import Plugins

GROUPS = ("start", "compare", "hand in", "look", "extend")
"""Groups of commands in the help, in their order. The last one has the commands of plugins that name none of them."""


def show_in_groups(command_line: Parser, commands: argparse._SubParsersAction[Any]) -> None:
    """Let the help of the command line show the commands in groups, before the options."""
    sections = {group: command_line.add_argument_group(group) for group in GROUPS}
    for name, parser in commands.choices.items():
        line = commands._ChoicesPseudoAction(name, (), parser.description)
        sections.get(parser.group, sections["extend"])._group_actions.append(line)
    command_line._action_groups.sort(key=lambda section: section.title == "options")


class _Commands(argparse._SubParsersAction):  # type: ignore[type-arg]
    """Commands whose line in the help of all is the description in their own help, too."""

    def add_parser(self, *words: Any, **settings: Any) -> Any:
        return super().add_parser(*words, **{"description": str(settings.get("help") or ""), **settings})


def add_commands(commands: argparse._SubParsersAction[Any], plugins: Plugins) -> None:
    """Add the commands of all plugins; commands of a plugin that fails are left out, and `doctor` says why."""
    with Loading() as loading:
        for hook in plugins.hook.register_commands.get_hookimpls():
            owner, where = hook.plugin_name, "register_commands: "
            with plugins.setting_aside(owner, where), loading.plugin(owner):
                # The plugin gets commands of its own, so it cannot change those of other plugins.
                own = _Commands((), commands._prog_prefix, Parser)
                hook.function(*([own] if hook.argnames else []))  # a hook may leave out its parameter
                for name, parser in own.choices.items():
                    with plugins.setting_aside(owner, where):
                        _check(name, parser, commands.choices)
                        parser.set_defaults(plugin_of_command=owner, name_of_command=name)
                        parser.set_defaults(plugins=plugins, commands=commands.choices)
                        commands.choices[name] = parser


def _check(name: Any, parser: Any, known: Mapping[str, Any]) -> None:
    """Raise a `PluginError` if a command cannot be used."""
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
        raise PluginError(f"{quoted(name)} is not a name of a command: it must be of letters, digits and hyphens")
    if name in known:
        owner = known[name].get_default("plugin_of_command")
        raise PluginError(f"there is a command '{name}' already, from the plugin '{owner}'")
    if not isinstance(parser, Parser):
        raise PluginError(f"the command '{name}' is no parser but {quoted(parser)}: add it with add_parser")
    if parser.get_default("run") is None and not parser.module:
        raise PluginError(f"the command '{name}' has no set_defaults(run=...)")
    for default in ("run", "estimate"):
        value = parser.get_default(default)
        if value is not None and not callable(value):
            raise PluginError(
                f"the command '{name}' needs a function in set_defaults({default}=...), not {quoted(value)}"
            )
