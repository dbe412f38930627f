"""The command line: it parses words into values and prints values. Everything else can be called from Python."""

# PYTHON_ARGCOMPLETE_OK: argcomplete looks for this mark before it asks a program for completions

from __future__ import annotations

import argparse
import atexit
import contextlib
import errno
import os
import signal
import sys
from collections.abc import Sequence

from benchrunner.commands import (
    check_command,
    compare_command,
    data_command,
    demo_command,
    doctor_command,
    export_command,
    list_command,
    new_command,
    predict_command,
    report_command,
    run_command,
    runs_command,
    score_command,
    share_command,
    submit_command,
    verify_command,
)
from benchrunner.commands.completion import complete
from benchrunner.commands.failures import estimate_of, exit_code_of, parsed, print_traceback
from benchrunner.commands.output import (
    DONE,
    FAILED,
    INTERRUPTED,
    MISUNDERSTOOD,
    print_json,
    reserved_for_json,
)
from benchrunner.commands.parser import Commands, Parser
from benchrunner.commands.plugin_commands import add_plugin_commands
from benchrunner.errors import BenchrunnerError, RequestError
from benchrunner.files import is_disk_full
from benchrunner.parent_process import end_with_parent
from benchrunner.plugins.discovery import discover
from benchrunner.plugins.registry import Plugins
from benchrunner.printing import message_of, print_note


def main(words: Sequence[str] | None = None, *, plugins: Plugins | None = None) -> int:
    """Run one command and return the exit code. Without `words`, take the command line of this process."""
    if words is None:
        _prepare_process()
    # GNU OpenMP's threads spin for their next task. On a busy machine that starves the thread they wait for: 100 times
    # slower was measured. 3,000 rounds keep the speed of a quiet machine. torch reads this when it is loaded, later.
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")  # no lines about retries: our own error says what ended them
    try:
        return _run(sys.argv[1:] if words is None else words, plugins or discover(), ends_process=words is None)
    except KeyboardInterrupt:
        if words is None:  # what Python still waits for at its end, such as a download's threads, can be cut short
            signal.signal(signal.SIGINT, lambda number, frame: os._exit(INTERRUPTED))
        message = "stopped. The same command goes on from here; finished fits are not run again."
        print_note(f"\nbenchrunner: {message}")
        return INTERRUPTED
    except BrokenPipeError:  # `benchrunner list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except BenchrunnerError as error:
        print_note(f"benchrunner: {message_of(error)}")
        print_traceback(error)
        return MISUNDERSTOOD if isinstance(error, RequestError) else FAILED
    except OSError as error:  # a full disk, a folder that cannot be written
        print_note(f"benchrunner: {_described(error)}")
        return FAILED


def _run(words: Sequence[str], plugins: Plugins, *, ends_process: bool) -> int:
    command_line = parser(plugins)
    complete(command_line, plugins)
    if not words:
        command_line.print_help()
        return DONE
    arguments = parsed(command_line, words, plugins)
    if arguments.parse_only:
        return DONE
    arguments.plugins, arguments.words = plugins, list(words)
    if arguments.only_estimate:
        return _print_estimate(arguments)
    if not getattr(arguments, "shows_set_aside", False):
        for part in plugins.set_aside:
            print_note(f"benchrunner: {part.text}")
    with contextlib.ExitStack() as stack:
        stack.enter_context(reserved_for_json(_prints_data(arguments)))
        code = exit_code_of(arguments)
        if ends_process:  # what plugins print when the process ends is not JSON either
            stack.pop_all()
    if sys.stdout is not None:  # as after `>&-`
        sys.stdout.flush()  # here, so that a reader that is gone is told apart from a failure
    return code


def _prints_data(arguments: argparse.Namespace) -> bool:
    """Return whether a command of the core prints what a program reads; a plugin's command prints as it likes."""
    if hasattr(arguments, "plugin_of_command"):
        return False
    return getattr(arguments, "json", False) or getattr(arguments, "format", "table") != "table"


def _print_estimate(arguments: argparse.Namespace) -> int:
    """Print the estimate of a command as JSON: null for a command that has none."""
    with reserved_for_json(as_json=True):
        result = estimate_of(arguments)
    print_json(result)
    return DONE


def _described(error: OSError) -> str:
    """Say which file or folder could not be used, and why."""
    path = error.filename2 or error.filename  # of two paths, the second is the place that was written to
    reason = str(error.strerror or error)
    if is_disk_full(error):
        reason += ". Make room, then repeat the command: finished fits are kept and not run again."
    if isinstance(error, FileExistsError | NotADirectoryError):
        reason = "a folder is needed here, and there is a file in its place."
    elif error.errno == errno.EROFS:
        reason += ". Choose a folder that can be written; finished fits are kept."
    elif isinstance(error, IsADirectoryError):
        reason = "a file is needed here, and there is a folder in its place."
    return f"{path}: {reason}" if path else reason


def _prepare_process() -> None:
    """Keep the exit code if Ctrl-C comes while Python ends, and never fail on a character that cannot be encoded.

    A command that a study started ends with the study's process.
    """
    end_with_parent()
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # registered first, so called last
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a stream that was replaced may have none
            stream.reconfigure(errors="backslashreplace")


def parser(plugins: Plugins) -> Parser:
    """Make the parser of every command of the core, then of the plugins' own commands."""
    command_line = Parser(
        prog="benchrunner",
        description="Fine-tune, evaluate and submit language-model backbones.",
        epilog="Start with 'benchrunner demo'.",
    )
    command_line.add_argument("--version", action="version", version=f"benchrunner {plugins.core.version}")
    command_line.add_argument(
        "--parse-only", action="store_true", help="only say whether the command that follows is understood"
    )
    command_line.add_argument(
        "--estimate", dest="only_estimate", action="store_true", help="only say what the command that follows would do"
    )
    commands: Commands = command_line.add_subparsers(metavar="COMMAND", required=True)
    core = (
        *(demo_command, list_command, doctor_command, data_command, run_command, compare_command),
        *(predict_command, export_command, submit_command, check_command, runs_command),
        *(report_command, share_command, verify_command, new_command),
    )
    for command in core:
        command.add(commands)
    score_command.add(commands, plugins)
    add_plugin_commands(commands, plugins, prog=command_line.prog)
    return command_line
