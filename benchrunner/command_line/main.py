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
from typing import TYPE_CHECKING

from benchrunner.command_line.output import DONE, FAILED, MISUNDERSTOOD, SIGNALLED, print_json
from benchrunner.console.printing import print_line, print_note
from benchrunner.console.standard_streams import ReservedOutput, prepare_streams
from benchrunner.errors import BenchrunnerError, RequestError
from benchrunner.plugins.distributions import DISTRIBUTION, installed_version
from benchrunner.plugins.loading import end_beside_threads
from benchrunner.process.interrupts import Stopped, end_with_parent, number_of, stop_on_signals
from benchrunner.process.platform_facts import STOP_SIGNALS, home_folder
from benchrunner.workspace import Workspace

if TYPE_CHECKING:
    from benchrunner.plugins.registry import Plugins


def main(words: Sequence[str] | None = None, *, plugins: Plugins | None = None) -> int:
    """Run one command and return the exit code. Without `words`, take the command line of this process."""
    if words is not None:
        return _exit_code(words, plugins, ends_process=False)
    try:
        prepare_streams()
        code = _exit_code(sys.argv[1:], plugins, ends_process=True)
    except SystemExit as ended:  # as of --help
        code = ended.code if isinstance(ended.code, int) else DONE
    except KeyboardInterrupt as stop:  # a further one, while the first was told
        code = SIGNALLED + number_of(stop)
    _end_at_signals(code)  # what Python still waits for, such as a download's threads, can be cut short
    end_beside_threads(code)
    return code


def _exit_code(words: Sequence[str], plugins: Plugins | None, *, ends_process: bool) -> int:
    # GNU OpenMP's threads spin for their next task. On a busy machine that starves the thread they wait for: 100 times
    # slower was measured. 3,000 rounds keep the speed of a quiet machine. torch reads this when it is loaded, later.
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")  # no lines about retries: our own error says what ended them
    if home_folder() is None:  # the hub's library would write into a folder named "~"
        os.environ.setdefault("HF_HOME", str(Workspace.from_environment().cache.absolute() / "huggingface"))
    try:
        if "--version" not in words[:1]:
            return _run(words, plugins, ends_process=ends_process)
        print_line(f"benchrunner {installed_version(DISTRIBUTION, sys.modules[DISTRIBUTION])}")  # without plugins
        return DONE
    except KeyboardInterrupt as stop:
        by = f" by {signal.Signals(stop.number).name}" if isinstance(stop, Stopped) else ""
        goes_on = "The same command goes on from here; finished fits are not run again."
        print_note(f"\nbenchrunner: stopped{by}. {goes_on}")
        return SIGNALLED + number_of(stop)
    except BenchrunnerError as error:
        print_note(f"benchrunner: {error!s}")
        from benchrunner.command_line.failures import print_traceback

        print_traceback(error)
        return MISUNDERSTOOD if isinstance(error, RequestError) else FAILED
    except OSError as error:  # a full disk, a folder that cannot be written
        print_note(f"benchrunner: {_described(error)}")
        return MISUNDERSTOOD if error.errno == errno.ENAMETOOLONG else FAILED


def _run(words: Sequence[str], plugins: Plugins | None, *, ends_process: bool) -> int:
    from benchrunner.command_line.completion import complete
    from benchrunner.command_line.failures import estimate_of, exit_code_of, parsed
    from benchrunner.plugins.discovery import discover

    if ends_process:  # signals that ask to stop end the command in order, as does the end of the study that started it
        stop_on_signals()
        end_with_parent()
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # registered first, so called last
    plugins = plugins or discover()
    command_line = parser(plugins)
    complete(command_line, plugins)
    if not words:
        command_line.print_help()
        return DONE
    try:
        arguments = parsed(command_line, words, plugins)
    except SystemExit:  # a command that is not known may be of a plugin that is set aside
        _tell_set_aside(plugins)
        raise
    if arguments.parse_only:
        return DONE
    arguments.words = list(words)
    if arguments.only_estimate:
        with ReservedOutput():
            estimate = estimate_of(arguments)
        print_json(estimate)
        return DONE
    if not getattr(arguments, "shows_set_aside", False):
        _tell_set_aside(plugins)
    is_data = getattr(arguments, "json", None) or getattr(arguments, "format", "table") != "table"
    prints_data = is_data and getattr(arguments, "reserves_output", False)
    with contextlib.ExitStack() as stack:
        if prints_data:
            stack.enter_context(ReservedOutput())
        code = exit_code_of(arguments)
        if ends_process:  # what plugins print when the process ends is not JSON either
            stack.pop_all()
    if sys.stdout is not None:  # as in Python programs without standard output
        sys.stdout.flush()  # here, so that a full disk is told
    return code


def _tell_set_aside(plugins: Plugins) -> None:
    """Print what is set aside, and let what is set aside later be printed."""
    plugins.tell = lambda part: print_note(f"benchrunner: {part.text}")
    for part in plugins.known_set_aside:
        plugins.tell(part)


def _described(error: OSError) -> str:
    """Say which file or folder could not be used, and why."""
    from benchrunner.io.files import full_disk

    path = error.filename2 or error.filename  # of two paths, the second is the place that was written to
    reason = str(error.strerror or error)
    if error.errno == errno.ENAMETOOLONG:
        reason = "no file system has names so long. Choose a shorter name."
    if full_disk(error):
        remedy = "Raise the limit of files (ulimit -f)" if error.errno == errno.EFBIG else "Make room"
        reason += f". {remedy}, then repeat the command: finished fits are kept and not run again."
    if isinstance(error, FileExistsError | NotADirectoryError):
        reason = "a folder is needed here, and there is a file in its place."
    elif error.errno == errno.EROFS:
        reason += ". Choose a folder that can be written; finished fits are kept."
    elif isinstance(error, IsADirectoryError):
        reason = "a file is needed here, and there is a folder in its place."
    return f"{path}: {reason}" if path else reason


def _end_at_signals(code: int) -> None:
    """Let a further request to stop end this process at once, with the exit code of the first."""
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: os._exit(code))


def parser(plugins: Plugins) -> argparse.ArgumentParser:
    """Make the parser of every command that the plugins offer, those of the core first."""
    from benchrunner.command_line.parser import Parser
    from benchrunner.command_line.registered_commands import add_commands, show_in_groups
    from benchrunner.plugins.entry_points import note_on_choice

    command_line = Parser(
        prog="benchrunner",
        usage="benchrunner COMMAND ...",
        description="Fine-tune, evaluate and submit language-model backbones. Start with 'benchrunner demo'.",
        epilog=note_on_choice(),
    )
    command_line.add_argument("--version", action="store_true", help="show the version, and end")
    # Only study files ask for these two: whether a command of theirs is understood, and what it would do.
    command_line.add_argument("--parse-only", action="store_true", help=argparse.SUPPRESS)
    command_line.add_argument("--estimate", dest="only_estimate", action="store_true", help=argparse.SUPPRESS)
    commands = command_line.add_subparsers(
        metavar="COMMAND", required=True, prog=command_line.prog, help=argparse.SUPPRESS
    )
    add_commands(commands, plugins)
    show_in_groups(command_line, commands)
    return command_line
