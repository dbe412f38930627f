"""The command line: words to values and values to text. Nothing happens here that Python users cannot call."""

from __future__ import annotations

import argparse
import atexit
import os
import signal
import sys
from collections.abc import Sequence

from benchrunner.commands import demo, fitting, looking, scoring, submitting
from benchrunner.errors import BenchrunnerError, PluginError, RequestError
from benchrunner.plugins.discovery import discover
from benchrunner.plugins.registry import Plugins

DONE, FAILED, MISUNDERSTOOD, INTERRUPTED = 0, 1, 2, 130
"""Exit codes; 130 is the shell's own for Ctrl-C."""


def main(words: Sequence[str] | None = None, *, plugins: Plugins | None = None) -> int:
    """Run one command; the exit code. Without `words`, it is the command line of this process."""
    whole_process = words is None
    if whole_process:  # registered first, so called last: Ctrl-C while Python is torn down keeps the exit code
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    # GNU OpenMP's threads spin for their next task. On a busy machine that starves the thread they wait for: 100 times
    # slower was measured. 3,000 rounds keep the speed of a quiet machine. Read when torch is loaded, which is later.
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")  # its retries; what ends them is said by our own error
    try:
        plugins = plugins or discover()
        words = sys.argv[1:] if words is None else words
        arguments = parser(plugins).parse_args(words)
        arguments.plugins, arguments.words = plugins, list(words)
        if not getattr(arguments, "says_plugins", False):
            for one in plugins.set_aside:
                print(f"benchrunner: plugin {one.plugin} is set aside: {one.reason}", file=sys.stderr)
        code = int(arguments.run(arguments) or DONE)
        sys.stdout.flush()  # here, where a reader that has gone can still be told from a failure
        return code
    except RequestError as error:
        print(f"benchrunner: {error}", file=sys.stderr)
        return MISUNDERSTOOD
    except BenchrunnerError as error:
        print(f"benchrunner: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        if whole_process:  # what Python still waits for at its end, such as a download's threads, can be cut short
            signal.signal(signal.SIGINT, lambda number, frame: os._exit(INTERRUPTED))
        print(
            "\nbenchrunner: stopped. The same command goes on from here; finished fits are not run again.",
            file=sys.stderr,
            flush=True,
        )
        return INTERRUPTED
    except BrokenPipeError:  # `benchrunner list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:  # a full disk, a folder that cannot be written
        named = error.filename2 or error.filename  # of two, the place where something was to be put
        where = f"{named}: " if named else ""
        print(f"benchrunner: {where}{error.strerror or error}", file=sys.stderr)
        return FAILED


def parser(plugins: Plugins) -> argparse.ArgumentParser:
    """Every command of the core, then the plugins' own."""
    whole = argparse.ArgumentParser(
        prog="benchrunner",
        description="Fine-tune, evaluate and submit language-model backbones.",
        epilog="Start with 'benchrunner demo'.",
    )
    commands = whole.add_subparsers(metavar="COMMAND", required=True)
    for group in (demo, looking, fitting, submitting):
        group.add(commands)
    scoring.add(commands, plugins)
    for own in plugins.hook.register_commands.get_hookimpls():
        before = set(commands.choices)
        try:
            own.function(*([commands] if own.argnames else []))
            for name in set(commands.choices) - before:
                if commands.choices[name].get_default("run") is None:
                    raise PluginError(f"the command '{name}' has no set_defaults(run=...)")
        except (Exception, SystemExit) as error:  # a plugin's command may be broken; the others work
            for name in set(commands.choices) - before:
                del commands.choices[name]
            commands._choices_actions[:] = [one for one in commands._choices_actions if one.dest in commands.choices]
            plugins.fail(own.plugin_name, error, "register_commands: ")
    return whole
