"""The parser of the command line: errors say what was probably meant, and where to look."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn, final

from benchrunner.console.printing import printable
from benchrunner.parameters.parameter import rare_options
from benchrunner.plugin_code import guarded
from benchrunner.plugins.entry_points import note_on_choice

CLOSE = 0.7
"""Similarity (difflib's ratio) from which a word is suggested: one or two letters are wrong in a word of five."""


class HelpTexts(argparse.HelpFormatter):
    """Formatter of help that shows a text with a `%` of its own as it stands, and shortens a text of a megabyte."""

    def _expand_help(self, action: argparse.Action) -> str:
        try:
            text = super()._expand_help(action)
        except (ValueError, TypeError, KeyError):
            text = str(action.help)
        return printable(text)


@final
class _ShortTexts(HelpTexts):
    """Formatter of help that leaves out what stands behind a semicolon."""

    def _expand_help(self, action: argparse.Action) -> str:
        return super()._expand_help(action).partition(";")[0]


class _HelpAll(argparse.Action):
    """Prints the help with all options in their groups, and ends."""

    def __call__(self, parser: Any, *_: Any) -> None:
        parser._print_message(argparse.ArgumentParser.format_help(parser), sys.stdout)
        parser.exit()


@final
class Parser(argparse.ArgumentParser):
    """An argument parser that suggests the commands, options and choices that are closest to a mistyped one.

    Python 3.11 has no `suggest_on_error`, and the one of later versions suggests no options.
    """

    def __init__(self, *arguments: Any, module: str = "", group: str = "", **settings: Any) -> None:
        """Take the settings of `argparse`. `module` has the options of a command and its code; see `load_module`.

        `group` is the part of the help of all commands in which the command stands.
        """
        super().__init__(*arguments, **{"formatter_class": HelpTexts, **settings})
        self.module = module
        self.group = group
        self._words: Sequence[str] = ()

    def load_module(self) -> None:
        """Import the module of the command, if it has one: `add_options` adds options, `run` is the command."""
        if not self.module:
            return
        name = self.module
        self.module = ""
        with guarded(f"The module {name} of '{self.prog}'"):
            module = import_module(name)
            self.set_defaults(run=module.run, estimate=getattr(module, "estimate", None))
            module.add_options(self)
        if rare := len(rare_options(self)):
            self.usage = f"{self.prog} [options] ..."
            self.add_argument("--help-all", action=_HelpAll, nargs=0, help=f"show {rare} more options, and end")

    def format_help(self) -> str:
        """Show the everyday options, and their texts up to a semicolon; all if the command does not name them."""
        rare = rare_options(self)
        if not rare:
            return super().format_help()
        text = _ShortTexts(self.prog)
        text.add_usage(self.usage, (), ())
        text.start_section("options")
        text.add_arguments([action for action in self._actions if action not in rare])
        text.end_section()
        return text.format_help()

    def parse_known_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse words, with options anywhere among them; refuse those that are not known.

        The error is about the command that the words belong to.
        """
        self.load_module()
        self._words = tuple(sys.argv[1:] if args is None else args)
        namespace, unknown = super().parse_known_args(self._words, namespace)
        lists = [action for action in self._get_positional_actions() if action.nargs in ("*", "+")]
        if unknown and lists and not any(word.startswith("-") and word != "-" for word in unknown):
            name = lists[-1].dest  # a list that an option parted
            setattr(namespace, name, [*getattr(namespace, name), *self._get_values(lists[-1], unknown)])
            unknown = []
        if unknown:
            self.error(f"too many words, or options that it does not have: {' '.join(unknown)}")
        return namespace, unknown

    def error(self, message: str) -> NoReturn:
        """End with exit code 2; an option that does not exist is a better explanation than what follows from it."""
        unknown = self._unknown_option()
        if unknown:
            message = f"there is no option {unknown}.{_suggestion(unknown, self._option_string_actions)}"
            if self._subparsers is not None:
                message += f" Options of a command stand after its name: {self.prog} COMMAND {unknown}."
            elif any(unknown[2:] == action.metavar for group in self._action_groups for action in group._group_actions):
                message = f"there is no option {unknown}. Write --set {unknown[2:]}=VALUE."
        end = "." * (message[-1] not in ".?")
        self.exit(2, f"{self.prog}: {message}{end}\nSee '{self.prog} --help'.\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help, usage and errors, without the control characters of words and of plugins' texts."""
        if message:
            super()._print_message("\n".join(map(printable, message.split("\n"))), file)

    def _unknown_option(self) -> str | None:
        """Find the first long option that this parser does not have."""
        for previous, word in pairwise(("", *self._words)):
            known = self._option_string_actions.get(previous)
            is_value = known is not None and known.nargs != 0
            if word == "--" or (self._subparsers is not None and not word.startswith("-") and not is_value):
                return None  # what follows is no option, or belongs to a command
            name = word.partition("=")[0]
            has_option = any(known.startswith(name) for known in self._option_string_actions)
            if word.startswith("--") and " " not in name and not has_option:
                return name
        return None

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Refuse an empty path, for example of an unset shell variable: Python would take it for this folder."""
        if action.type is Path and "" in arg_strings:
            raise argparse.ArgumentError(action, "the path is empty; this folder is named '.'")
        return super()._get_values(action, arg_strings)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Read one value; name what was expected in place of a text that is no number, without Python's type names."""
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            if action.type not in (int, float):
                raise
            raise argparse.ArgumentError(
                action, f"'{arg_string}' is not a {'whole ' * (action.type is int)}number"
            ) from None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = list(map(str, action.choices))
        close = _suggestion(str(value), choices)
        listed = f" Choose from {', '.join(choices)}."
        if not isinstance(action, argparse._SubParsersAction):
            raise argparse.ArgumentError(action, f"there is no choice '{value}'.{close}{listed}")
        about = [
            f" '{name}' is to {command.description}."
            for name, command in action.choices.items()
            if value in str(command.description).split()
        ]
        if not close and len(value) > 3:  # not for words such as "a", which say nothing
            close = "".join(about[:2])
        advice = f"{close or listed} {note_on_choice()}".rstrip()
        raise argparse.ArgumentError(None, f"there is no {str(action.metavar).lower()} '{value}'.{advice}")


def _suggestion(word: str, known: Iterable[str]) -> str:
    import difflib

    names = {name.lstrip("-"): name for name in known}  # dashes would make all options alike
    close = difflib.get_close_matches(word.lstrip("-"), names, n=2, cutoff=CLOSE)
    return f" Did you mean {' or '.join(names[name] for name in close)}?" if close else ""
