"""Several processes for one run, on this machine or on many: torchrun's environment for each, and their end."""

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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType

from benchrunner import DataError, RequestError

GRACE = 60.0
"""Seconds in which processes may end by themselves once one of them has failed."""

_PARENT = "BENCHRUNNER_PARENT"
"""Environment variable: the pipe that tells a process of `run` that who started it is gone."""
_HOST = re.compile(r"(\S+)\s+slots=(\d+)(?:\s*#.*)?")


def is_launched() -> bool:
    """Whether somebody has already said which of several processes this is."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def free_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(words: Sequence[str], processes: int) -> int:
    """The same command in so many processes; the first exit code that is not zero. Signals go to all of them."""
    common = {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    common.setdefault("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS") or str(_threads(processes)))
    theirs, ours = os.pipe()  # closed by the system when we end, however we end: see `end_with_parent`
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "benchrunner", *words],
            env={**os.environ, **common, "RANK": str(rank), "LOCAL_RANK": str(rank), _PARENT: str(theirs)},
            pass_fds=(theirs,),
            start_new_session=True,  # the terminal's Ctrl-C reaches them through us alone, so that none hears it twice
        )
        for rank in range(processes)
    ]
    os.close(theirs)

    def pass_on(number: int) -> None:
        for one in started:
            one.send_signal(number)

    with _passing_on(pass_on):
        try:
            return _ended(started)
        finally:
            for one in started:
                if one.poll() is None:
                    one.kill()
            os.close(ours)


def is_ours() -> bool:
    """Whether `run` started this process, after it had prepared everything."""
    return _PARENT in os.environ


def end_with_parent() -> None:
    """In a process that `run` started: write a checkpoint and end when who started it has been killed."""
    if not is_ours():
        return

    def watch(pipe: int) -> None:
        os.read(pipe, 1)  # returns when nobody is left who could write
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, args=(int(os.environ[_PARENT]),), daemon=True).start()


def run_on_hosts(words: Sequence[str], hostfile: Path) -> int:
    """The same command on every slot of a hostfile, by DeepSpeed's launcher; its exit code."""
    command = by_hostfile(words, hostfile)
    # In a session of its own: the terminal's Ctrl-C reaches it through us alone, so that no process hears it twice.
    started = subprocess.Popen(command, start_new_session=True)

    def pass_on(number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGINT)  # what DeepSpeed's launcher makes SIGTERM of

    with _passing_on(pass_on):
        return started.wait()


def by_hostfile(words: Sequence[str], hostfile: Path) -> list[str]:
    """The command that DeepSpeed's launcher is given."""
    hosts = read_hosts(hostfile)
    if importlib.util.find_spec("deepspeed") is None:
        raise RequestError("Pre-training needs DeepSpeed: install benchrunner-bert with its extra 'pretrain'.")
    launcher = [sys.executable, "-m", "deepspeed.launcher.runner", "--hostfile", str(hostfile), "--no_local_rank"]
    if len(hosts) == 1 and hosts.keys() <= {"localhost", "127.0.0.1", socket.gethostname()}:
        launcher += ["--no_ssh_check", "--master_addr", "127.0.0.1", "--master_port", str(free_port())]
    elif shutil.which("pdsh") is None:
        raise RequestError(
            f"{hostfile} names {', '.join(hosts)}: DeepSpeed's launcher reaches other machines by pdsh. Install "
            "pdsh here, or start the same command on every machine by torchrun, without --hostfile."
        )
    elif len(hosts) == 1:
        launcher += ["--force_multi"]  # or it would take this machine for it
    return [*launcher, "--module", "benchrunner", *words]


def read_hosts(path: Path) -> dict[str, int]:
    """Host -> processes there. A line is 'host slots=N'; empty lines and those that begin with # say nothing."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"--hostfile {path}: cannot be read ({error}).") from None
    found = dict[str, int]()
    for number, line in enumerate(map(str.strip, lines), start=1):
        if not line or line.startswith("#"):
            continue
        match = _HOST.fullmatch(line)
        if match is None or int(match[2]) < 1:
            raise DataError(f"{path}:{number}: found {line!r}, expected 'host slots=N' with N of at least 1.")
        if match[1] in found:
            raise DataError(f"{path}:{number}: the host {match[1]} stands there twice; give all its slots in one line.")
        found[match[1]] = int(match[2])
    if not found:
        raise DataError(f"{path}: no host; a line for each is expected, 'host slots=N'.")
    return found


def _ended(started: Sequence[subprocess.Popen[bytes]]) -> int:
    """Wait for all. Where one fails the others wait for it in vain, and are ended when they do not end themselves."""
    until = float("inf")
    while None in (codes := [one.poll() for one in started]) and time.monotonic() < until:
        if until == float("inf") and any(codes):
            until = time.monotonic() + GRACE
        time.sleep(0.05)
    failed = [one.returncode for one in started if one.returncode]
    for one in started:
        if one.poll() is None:
            one.kill()
    return failed[0] if failed else 0


@contextlib.contextmanager
def _passing_on(action: Callable[[int], None]) -> Iterator[None]:
    def heard(number: int, frame: FrameType | None) -> None:
        action(number)

    before = {number: signal.signal(number, heard) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _threads(processes: int) -> int:
    return max(1, (os.cpu_count() or 1) // processes)
