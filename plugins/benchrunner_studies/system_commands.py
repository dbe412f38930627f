"""Commands of study files: benchrunner commands that build backbones, each in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from types import FrameType
from typing import IO

from benchrunner import CommandEstimate, FitError, RequestError, Workspace, print_note
from benchrunner.engine import decoding, platform_facts
from benchrunner.results import Runner, Study, interrupts, planning

PROGRAM = (sys.executable, "-m", "benchrunner")
"""Program that gets the words of a command."""


def prepared(study: Study, runner: Runner, *, program: Sequence[str] = PROGRAM) -> Callable[[bool], None] | None:
    """Check the commands of a study, and return the function that runs them; None if there are none."""
    if not study.commands:
        return None
    estimates(study, runner, program=program)

    def build(show_progress: bool) -> None:
        for number, (words, system) in enumerate(study.commands.items(), start=1):
            if show_progress:
                print_note(f"{number} of {len(study.commands)}, {system}: benchrunner {shlex.join(words)}")
            run_command(words, runner.workspace, program=program, show_output=show_progress)

    return build


def estimates(
    study: Study, runner: Runner, *, program: Sequence[str] = PROGRAM
) -> dict[tuple[str, ...], CommandEstimate]:
    """Ask the commands of a study what they would do; raise an error for one that cannot work."""
    estimates = {}
    for words, system in study.commands.items():
        with planning.naming(f"{study.name}, system {system}"):
            estimates[words] = estimate_command(words, runner.workspace, program=program)
    return estimates


def estimate_command(
    words: Sequence[str], workspace: Workspace, *, program: Sequence[str] = PROGRAM
) -> CommandEstimate:
    """Ask a benchrunner command what it would do. Nothing is run.

    Raises a `RequestError` if the command is not understood, refuses its request or has no estimate: such a command
    builds nothing, and may delete what a study needs.
    """
    asked = subprocess.run(
        [*program, "--estimate", *words],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        env=_environment(workspace),
    )
    command = f"benchrunner {shlex.join(words)}"
    if asked.returncode:
        reason = asked.stderr.strip() or f"exit code {asked.returncode}"
        raise RequestError(f"This command cannot work: {command}\n{reason}")
    try:
        estimate = json.loads(asked.stdout)
    except ValueError:  # as of --help
        estimate = None
    if estimate is None:
        raise RequestError(
            f"This command builds no backbone: {command}\nOnly commands that can estimate what is left to build, such "
            "as pretrain, may stand in make."
        )
    return decoding.from_json(CommandEstimate, estimate, f"The estimate of {command}", RequestError)


def run_command(
    words: Sequence[str],
    workspace: Workspace,
    *,
    program: Sequence[str] = PROGRAM,
    show_output: bool = True,
) -> None:
    """Run a benchrunner command in the same workspace. Its output goes to standard error, like progress.

    Without `show_output`, the output is shown only if the command fails. Ctrl-C and SIGTERM are passed on to the
    command and end in a `KeyboardInterrupt`. If this process is killed, the command gets SIGTERM. `study` is the study
    file that the command stands in.
    """
    with contextlib.ExitStack() as stack:
        output: IO[bytes] | int = 2 if show_output else stack.enter_context(tempfile.TemporaryFile())
        process, pipe = interrupts.start_bound(
            [*program, *words],
            env=_environment(workspace),
            stdout=output,
            stderr=output,
            process_group=0,  # a new group, so that Ctrl-C does not reach the process twice
        )
        stack.callback(os.close, pipe)
        wait_passing_signals(process)
        code = process.returncode
        if code in {value for number in platform_facts.STOP_SIGNALS for value in (-number, 128 + number)}:
            raise interrupts.interrupt_by(abs(code) % 128)
        if code and not isinstance(output, int):
            output.seek(0)
            sys.stderr.write(output.read().decode(errors="replace"))
    if code:
        kind: type[RequestError | FitError] = RequestError if code == 2 else FitError
        raise kind(
            f"This command ended with exit code {code}; its own message is above: benchrunner {shlex.join(words)}\n"
            "What was made before it is kept: the same study goes on from there."
        )


def wait_passing_signals(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process to end and forward signals that ask to stop; then stop in the same way, if there were any."""
    received: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        received.append(number)
        process.send_signal(number)

    before = {}
    for number in platform_facts.STOP_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            before[number] = signal.signal(number, pass_on)
    try:
        process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        raise interrupts.interrupt_by(received[0])


def _environment(workspace: Workspace) -> dict[str, str]:
    folders = {
        "BENCHRUNNER_RUNS": workspace.runs,
        "BENCHRUNNER_CACHE": workspace.cache,
        "BENCHRUNNER_DATA": workspace.data,
    }
    named = {name: str(folder) for name, folder in folders.items() if folder is not None}
    return {**os.environ, **named}
