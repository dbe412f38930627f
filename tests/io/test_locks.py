"""Locks hold on file systems with and without the operating system's locks, and end with their owner."""

import errno
import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchrunner.io import locks
from benchrunner.io.locks import held, is_held

FLOCKS = {
    "works": "",
    "does nothing": "import fcntl; fcntl.flock = lambda *_: None\n",
    **{
        name: f"import fcntl\ndef none(*_):\n    raise OSError({getattr(errno, name)}, '')\nfcntl.flock = none\n"
        for name in ("ENOSYS", "EOPNOTSUPP", "ENOLCK")
    },
}
"""Behaviour of a file system's flock -> code that gives a process this behaviour."""
OWNER = """
import sys, time
from pathlib import Path
from benchrunner.io.locks import held

with held(Path(sys.argv[1]), lambda: print("waiting", flush=True)):
    print("mine", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(params=FLOCKS)
def flock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give this process a behaviour of flock; return code that gives it to another process."""
    code = FLOCKS[request.param]
    real = fcntl.flock
    exec(code, {})
    changed = fcntl.flock
    fcntl.flock = real
    monkeypatch.setattr(fcntl, "flock", changed)
    return code


@pytest.fixture
def owner(flock: str, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock until it reads a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", flock + OWNER, str(tmp_path / "run")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None and process.stdout.readline() == "mine\n"
        yield process
        process.kill()


def release(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def entered(folder: Path, waiting: Callable[[], None]) -> list[float]:
    """Enter the lock once in a thread; the list gets the time when it was entered."""
    times: list[float] = []

    def enter() -> None:
        with held(folder, waiting):
            times.append(time.monotonic())

    threading.Thread(target=enter, daemon=True).start()
    return times


def wait_for(reached: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_lock_excludes_a_second_process(owner: subprocess.Popen[str], tmp_path: Path) -> None:
    waited: list[bool] = []
    times = entered(tmp_path / "run", lambda: waited.append(True))
    wait_for(lambda: waited)
    time.sleep(0.5)
    assert times == [] and is_held(tmp_path / "run")
    release(owner)
    wait_for(lambda: times)
    assert waited == [True] and owner.wait() == 0 and not is_held(tmp_path / "elsewhere")
    wait_for(lambda: {path.name for path in (tmp_path / "run").iterdir()} <= {".lock"})


def test_a_killed_owner_leaves_no_lock(owner: subprocess.Popen[str], tmp_path: Path) -> None:
    owner.kill()
    owner.wait()
    waited: list[bool] = []
    began = time.monotonic()
    times = entered(tmp_path / "run", lambda: waited.append(True))
    wait_for(lambda: times)
    assert times[0] - began < locks.LEASE_SECONDS / 2


def test_a_lock_of_another_machine_is_kept_while_it_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner is a file that says it is of another machine, and that is touched as long as the owner lives."""
    monkeypatch.setattr(locks, "LEASE_SECONDS", 1.0)
    lease = tmp_path / ".lease"
    lease.write_text("filelock/2\npid=7\nhost=elsewhere\nmode=lease\ntoken=abc\nduration=1.0\n")
    waited: list[bool] = []
    times = entered(tmp_path, lambda: waited.append(True))
    for _ in range(20):
        time.sleep(0.1)
        os.utime(lease)
        assert times == []
    died = time.monotonic()
    wait_for(lambda: times)
    assert waited == [True] and times[0] - died > 0.5


def test_a_lock_that_is_refused_as_invalid_is_a_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def invalid(*_: object) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(fcntl, "flock", invalid)
    with held(tmp_path, lambda: None):
        assert is_held(tmp_path)
    assert not is_held(tmp_path)


def test_other_errors_of_a_lock_are_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "flock", broken)
    with pytest.raises(OSError, match="Input/output error"), held(tmp_path, lambda: None):
        pass
