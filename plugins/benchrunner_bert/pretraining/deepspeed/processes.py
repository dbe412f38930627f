"""The processes of a run: start several of them, connect them, let the first prepare, and lock the run's folder."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import multiprocessing
import os
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Iterator
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from torch.multiprocessing.spawn import ProcessExitedException, ProcessRaisedException, start_processes

from benchrunner import BenchrunnerError, FitError, RequestError
from benchrunner.engine import platform_facts
from benchrunner.results import interrupts

GRACE = 60.0
"""Seconds that the other processes have to end by themselves after a process has failed."""
_END_WITH_PARENT = 1
"""Linux's PR_SET_PDEATHSIG. torch sets SIGINT, which a run in the background of a shell script ignores."""
PATIENCE = timedelta(days=7)
"""Time that processes wait for another process that writes the tokens of a corpus."""
PATIENCE_WITH_ANOTHER = 20.0
"""Seconds to wait for another run in the same folder, which may be writing its last checkpoint."""


def run(work: Callable[[], bool], count: int) -> bool:
    """Let several processes do the same work together, or this one alone; `work` says whether it was finished.

    A request to stop this process is passed on. What ended the processes is raised once: of the others, each has an
    error too, since it lost one of them. When this process is killed, the system sends them SIGTERM.
    """
    if count == 1:
        return work()
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // count)))
    errors, writer = multiprocessing.Pipe(duplex=False)
    heard = signal.pthread_sigmask(signal.SIG_BLOCK, platform_facts.STOP_SIGNALS)
    shared = (work, count, free_port(), writer)
    context = start_processes(_process, shared, count, join=False)  # type: ignore[no-untyped-call]
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, heard)
        while not context.join(grace_period=GRACE):
            pass
        return True
    except KeyboardInterrupt as stop:
        for process in context.processes:
            if process.is_alive():
                os.kill(process.pid, interrupts.number_of(stop))
        for process in context.processes:
            process.join()
        raise
    except (ProcessExitedException, ProcessRaisedException) as end:
        raise (errors.recv() if errors.poll() else _told(end)) from None


def _process(rank: int, work: Callable[[], bool], count: int, port: int, errors: Connection) -> None:
    """Do the work of one process. A terminal's Ctrl-C reaches it once, through its parent: it has its own session."""
    os.setsid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, platform_facts.STOP_SIGNALS)
    _set_environment(rank, count, port)
    try:
        if work():
            return
        end: BaseException = KeyboardInterrupt()
    except (BenchrunnerError, OSError, KeyboardInterrupt) as error:
        end = KeyboardInterrupt() if isinstance(error, KeyboardInterrupt) else error
    errors.send(end)
    raise SystemExit(1)


def _told(end: ProcessExitedException | ProcessRaisedException) -> Exception:
    """Give the error that says why a process ended; torch tells only the traceback of an error in Python."""
    if isinstance(end, ProcessRaisedException):
        return end
    code = end.exit_code
    how = f"by {end.signal_name}, by somebody or for want of memory" if code < 0 else f"with the exit code {code}"
    return FitError(f"a process of the training was ended {how}. The same command goes on from the last checkpoint.")


def free_port() -> int:
    """Find a port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def first_here(work: Callable[[], object]) -> None:
    """Do work once on each machine, in its first process; the other processes wait, however long it takes."""
    join_processes()
    waiting = torch.distributed.new_group(backend="gloo", timeout=PATIENCE)
    fault: BaseException | None = None
    if int(os.environ.get("LOCAL_RANK") or 0) == 0:
        try:
            work()
        except BaseException as error:  # of any kind: the other processes must not wait for a result
            fault = error
    faults = torch.tensor(int(fault is not None))
    torch.distributed.all_reduce(faults, group=waiting)
    torch.distributed.destroy_process_group(waiting)
    if fault is not None:
        raise fault
    if faults:
        raise RequestError("Another process could not prepare the corpus; it says why.")


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lock the run's folder in the run's first process, or raise a `RequestError`.

    The system releases the lock when the process ends, however it ends.
    """
    if int(os.environ.get("RANK") or 0) > 0:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / ".lock", timeout=PATIENCE_WITH_ANOTHER):
            yield
    except Timeout:
        raise RequestError(f"{folder} is being trained by another process: wait for it or end it.") from None


def join_processes() -> Any:
    """Load DeepSpeed and connect this process with the others of the run; give DeepSpeed's module."""
    deepspeed = load_deepspeed()
    if not os.environ.get("RANK"):
        _set_environment(0, 1, free_port())
    if not torch.distributed.is_initialized():
        deepspeed.init_distributed()
    return deepspeed


def load_deepspeed() -> Any:
    """Import DeepSpeed, silence its warnings, and keep it from compiling an extension that is not used here."""
    os.environ.setdefault("DS_ACCELERATOR", "cuda" if torch.cuda.is_available() else "cpu")
    sys.modules.setdefault("mlflow", None)  # type: ignore[arg-type]  # takes a second, for what is not used here
    try:
        with contextlib.redirect_stdout(sys.stderr):  # where its log will write, too
            import deepspeed
    except ImportError as error:
        raise RequestError(f"DeepSpeed is needed ({error}): pip install 'benchrunner[pretrain]'.") from None
    finally:
        if sys.modules["mlflow"] is None:
            del sys.modules["mlflow"]
    warnings.filterwarnings("ignore", category=FutureWarning, module="torch.distributed")  # of calls by DeepSpeed
    logging.getLogger("DeepSpeed").setLevel(logging.ERROR)  # only now: the import sets it
    # An all-reduce in shared memory for CPUs. Compiling it takes a minute, and gloo does the same; DeepSpeed would also
    # ask a compiler about all its extensions.
    sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None  # type: ignore[attr-defined]
    return deepspeed


def _set_environment(rank: int, count: int, port: int) -> None:
    """Set torchrun's variables. Without them, DeepSpeed would look for MPI."""
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(count))
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
