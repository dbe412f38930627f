"""The command line: words to values and values to text. Nothing happens here that Python users cannot call."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from benchrunner.commands import demo, fitting, looking, submitting
from benchrunner.errors import BenchrunnerError, RequestError
from benchrunner.plugins import Plugins, SetAside, discover

DONE, FAILED, MISUNDERSTOOD, INTERRUPTED = 0, 1, 2, 130
"""Exit codes; 130 is the shell's own for Ctrl-C."""


def main(words: Sequence[str] | None = None, *, plugins: Plugins | None = None) -> int:
    """Run one command; the exit code."""
    # GNU OpenMP's threads spin for their next task. On a busy machine that starves the thread they wait for: 100 times
    # slower was measured. 3,000 rounds keep the speed of a quiet machine. Read when torch is loaded, which is later.
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    plugins = plugins or discover()
    arguments = parser(plugins).parse_args(words)
    arguments.plugins = plugins
    if not getattr(arguments, "says_plugins", False):
        for one in plugins.set_aside:
            print(f"benchrunner: plugin {one.plugin} is set aside: {one.reason}", file=sys.stderr)
    try:
        return int(arguments.run(arguments) or DONE)
    except RequestError as error:
        print(f"benchrunner: {error}", file=sys.stderr)
        return MISUNDERSTOOD
    except BenchrunnerError as error:
        print(f"benchrunner: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(
            "\nbenchrunner: stopped. The same command goes on from here; finished fits are not run again.",
            file=sys.stderr,
        )
        return INTERRUPTED
    except BrokenPipeError:  # `benchrunner list | head`
        sys.stderr.close()
        return DONE


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
    for own in plugins.hook.register_commands.get_hookimpls():
        try:
            own.function(commands)
        except Exception as error:  # a plugin's command may be broken; the others work
            plugins.set_aside.append(SetAside(own.plugin_name, f"register_commands: {type(error).__name__}: {error}"))
    return whole
