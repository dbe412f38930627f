"""Start a run in several processes, on this machine or on many, and end them together.

Each process gets torchrun's environment variables, so that torchrun can start a run too.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType

from benchrunner import DataError, RequestError, print_note

GRACE = 60.0
"""Seconds that the other processes have to end by themselves after a process has failed."""

_PARENT = "BENCHRUNNER_PARENT"
"""Environment variable of processes that `run` started: a pipe that closes when their parent ends, and a pipe for what
ends them."""
_SIGNALLED = 128
"""Exit code of a process that was asked to stop, less the number of the signal."""
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_HOST = re.compile(r"(\S+)\s+slots=(\d+)(?:\s*#.*)?")


def is_launched() -> bool:
    """Whether this is a process of a run that a launcher has started."""
    return bool(os.environ.get("RANK") and os.environ.get("WORLD_SIZE"))


def free_port() -> int:
    """Find a port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(words: Sequence[str], processes: int) -> int:
    """Run a command line of benchrunner in several processes; give the first exit code that is not zero.

    Signals to this process go to all of them. What ends the processes is told once.
    """
    common = {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    common["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS") or str(max(1, (os.cpu_count() or 1) // processes))
    read_end, write_end = os.pipe()  # the system closes the write end when this process ends: see `bound_to_parent`
    said, errors = os.pipe()
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "benchrunner", *words],
            env={**os.environ, **common, "RANK": str(rank), "LOCAL_RANK": str(rank), _PARENT: f"{read_end} {errors}"},
            pass_fds=(read_end, errors),
            start_new_session=True,  # so that the terminal's Ctrl-C reaches a child once, through this process
        )
        for rank in range(processes)
    ]
    for end in (read_end, errors):
        os.close(end)

    def pass_on(number: int) -> None:
        for child in children:
            child.send_signal(number)

    with _passing_on(pass_on) as received, os.fdopen(said, encoding="utf-8", errors="replace") as messages:
        failed = _failed_codes(children)
        os.close(write_end)
        if failed:
            _tell(failed, messages, is_asked=bool(received))
    return 1 if min(failed, default=0) < 0 else failed[0] if failed else 0


def _tell(failed: Sequence[int], messages: Iterable[str], *, is_asked: bool) -> None:
    """Say once why processes with these exit codes ended.

    A process that loses another one has an error too: it counts only if no process was stopped, and only the first.
    Where this process is asked to stop, the command line says so.
    """
    if min(failed) < 0:
        how = f"ended by {signal.Signals(-min(failed)).name}, by somebody or for want of memory"
    elif max(failed) > _SIGNALLED:
        how = "stopped"
    elif message := next(filter(str.strip, messages), ""):
        print_note(message.rstrip())
        return
    else:
        how = f"ended with the exit code {failed[0]}"
    if not is_asked:
        print_note(
            f"benchrunner: a process of the training was {how}. The same command goes on from the last checkpoint."
        )


def is_ours() -> bool:
    """Whether `run` started this process, after everything was prepared."""
    return _PARENT in os.environ


@contextlib.contextmanager
def bound_to_parent() -> Iterator[None]:
    """In a process that `run` started: end with a checkpoint when the parent is killed, and send it the last error.

    Where one process ends, the others have errors too, so that only the parent knows which of them is the reason.
    """
    if not is_ours():
        yield
        return
    alive, errors = map(int, os.environ[_PARENT].split())

    def watch() -> None:
        os.read(alive, 1)  # returns when the parent's end of the pipe is closed
        del os.environ[_PARENT]  # now each process says itself what ends it
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    except BaseException:
        if is_ours() and not os.environ.get("BENCHRUNNER_TRACEBACK"):
            os.dup2(errors, sys.stderr.fileno())
        raise


def run_on_hosts(words: Sequence[str], hostfile: Path) -> int:
    """Run a command line of benchrunner on every slot of a hostfile, by DeepSpeed's launcher; give its exit code."""
    command = by_hostfile(words, hostfile)
    # In a new session, so that the terminal's Ctrl-C reaches each process once, through this process.
    launcher = subprocess.Popen(command, start_new_session=True)

    def pass_on(number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(launcher.pid, signal.SIGINT)  # DeepSpeed's launcher sends SIGTERM to its processes then

    with _passing_on(pass_on):
        return launcher.wait()


def by_hostfile(words: Sequence[str], hostfile: Path) -> list[str]:
    """Build the command line of DeepSpeed's launcher."""
    hosts = read_hosts(hostfile)
    if importlib.util.find_spec("deepspeed") is None:
        raise RequestError("DeepSpeed is needed: pip install 'benchrunner[pretrain]'.")
    launcher = [sys.executable, "-m", "deepspeed.launcher.runner", "--hostfile", str(hostfile), "--no_local_rank"]
    if len(hosts) == 1 and hosts.keys() <= {"localhost", "127.0.0.1", socket.gethostname()}:
        launcher += ["--no_ssh_check", "--master_addr", "127.0.0.1", "--master_port", str(free_port())]
    elif shutil.which("pdsh") is None:
        raise RequestError(
            f"{hostfile} names {', '.join(hosts)}: DeepSpeed's launcher reaches other machines by pdsh. Install "
            "pdsh here, or start the same command on every machine by torchrun, without --hostfile."
        )
    elif len(hosts) == 1:
        launcher += ["--force_multi"]  # without it, the launcher would use this machine instead
    return [*launcher, "--module", "benchrunner", *words]


def read_hosts(path: Path) -> dict[str, int]:
    """Read the number of processes of each host. A line is 'host slots=N', a comment after #, or empty."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"--hostfile {path}: cannot be read ({error}).") from None
    hosts = dict[str, int]()
    for number, line in enumerate(map(str.strip, lines), start=1):
        if not line or line.startswith("#"):
            continue
        match = _HOST.fullmatch(line)
        if match is None or int(match[2]) < 1:
            raise DataError(f"{path}:{number}: found {line!r}, expected 'host slots=N' with N of at least 1.")
        if match[1] in hosts:
            raise DataError(f"{path}:{number}: the host {match[1]} stands there twice; give all its slots in one line.")
        hosts[match[1]] = int(match[2])
    if not hosts:
        raise DataError(f"{path}: no host; a line for each is expected, 'host slots=N'.")
    return hosts


def _failed_codes(processes: Sequence[subprocess.Popen[bytes]]) -> list[int]:
    """Wait for all processes; give the exit codes, in their order, of those that failed by themselves.

    If a process fails, the others wait for it without end. They are killed unless they end within `GRACE` seconds.
    """
    deadline = float("inf")
    try:
        while None in (codes := [process.poll() for process in processes]) and time.monotonic() < deadline:
            if deadline == float("inf") and any(codes):
                deadline = time.monotonic() + GRACE
            time.sleep(0.05)
        return [code for code in codes if code]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()


@contextlib.contextmanager
def _passing_on(action: Callable[[int], None]) -> Iterator[list[int]]:
    """Call `action` with the number of each signal that asks to stop; afterwards let the first stop this process too.

    Yield the numbers of the signals that came.

    Signals that are ignored, such as SIGHUP under nohup, stay ignored.
    """
    received: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        received.append(number)
        action(number)

    heard = [number for number in _STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in heard}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        signal.raise_signal(received[0])
