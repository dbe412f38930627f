"""Failures of commands: each becomes one sentence that names the culprit."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Any

from benchrunner.command_line.output import DONE, FAILED
from benchrunner.console.printing import print_note
from benchrunner.errors import PluginError
from benchrunner.io.messages import quoted
from benchrunner.plugin_code import passes, reason
from benchrunner.plugins.registry import Plugins

TRACEBACK = "BENCHRUNNER_TRACEBACK"
"""Environment variable that shows where an error was raised, for authors of plugins."""


def parsed(command_line: argparse.ArgumentParser, words: Sequence[str], plugins: Plugins) -> argparse.Namespace:
    """Parse words; the types of a plugin's options are code of the plugin and may fail."""
    try:
        return command_line.parse_args(words)
    except BaseException as error:
        if isinstance(error, SystemExit) or passes(error):
            raise
        raise PluginError(_explained(error, plugins)) from error


def exit_code_of(arguments: argparse.Namespace) -> int:
    """Run the command that was asked for, and return its exit code."""
    code = _called(arguments.run, arguments)
    if code is None:
        return DONE
    if not isinstance(code, int) or not 0 <= code <= 255:
        raise PluginError(f"{_name(arguments)} returned {quoted(code)}, where an exit code such as 0 is expected.")
    return int(code)


def estimate_of(arguments: argparse.Namespace) -> Any:
    """Return the estimate of the command that was asked for as JSON values: None for a command that has none."""
    estimate = getattr(arguments, "estimate", None)
    if estimate is None:
        return None
    from benchrunner.fits.executor import CommandEstimate

    value = _called(estimate, arguments)
    if not isinstance(value, CommandEstimate | None):
        raise PluginError(f"The estimate of {_name(arguments)} is {quoted(value)}, not a CommandEstimate.")
    return value


def _called(function: Callable[[argparse.Namespace], Any], arguments: argparse.Namespace) -> Any:
    """Call a function of a command; what nobody expected becomes a `PluginError` that names the culprit."""
    plugins: Plugins = arguments.plugins
    try:
        return function(arguments)
    except SystemExit as ended:
        if not _is_of_command(ended, arguments):  # a task's or a backbone's code ended the process
            raise PluginError(_explained(ended, plugins)) from ended
        if isinstance(ended.code, str):
            print_note(ended.code)
            return FAILED
        return ended.code
    except OSError:
        raise
    except BaseException as error:
        if passes(error):
            raise
        if not _is_of_command(error, arguments):
            raise PluginError(_explained(error, plugins)) from error
        raise PluginError(f"{_name(arguments)} failed: {reason(error)}.") from error


def _is_of_command(error: BaseException, arguments: argparse.Namespace) -> bool:
    """Return whether the command's plugin raised an error, which may be a request to end the process.

    The core's commands neither end the process nor fail so: code of a plugin that they called did.
    """
    plugins = arguments.plugins
    owner = arguments.plugin_of_command
    culprit, _ = plugins.explained(error)
    return owner != plugins.core.name and culprit in ("", owner)


def _name(arguments: argparse.Namespace) -> str:
    return f"The command '{arguments.name_of_command}' of the plugin '{arguments.plugin_of_command}'"


def _explained(error: BaseException, plugins: Plugins) -> str:
    """Name the plugin whose code raised an error that nothing expected, or benchrunner."""
    culprit, text = plugins.explained(error)
    if culprit:
        return f"{text}."
    return f"An unexpected error, a fault of benchrunner or of a plugin: {text}. {TRACEBACK}=1 shows where."


def print_traceback(error: BaseException) -> None:
    """Print where an error was raised, if the user asks for it by the environment."""
    if os.environ.get(TRACEBACK):
        import traceback

        print_note("".join(traceback.format_exception(error)).rstrip())
