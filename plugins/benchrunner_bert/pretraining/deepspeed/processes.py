"""Join the processes of a run: load DeepSpeed, let the first process of a machine prepare, lock the run's folder."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from benchrunner import RequestError
from benchrunner_bert.pretraining.deepspeed import launch

PATIENCE = timedelta(days=7)
"""Time that processes wait for another process that writes the tokens of a corpus."""
PATIENCE_WITH_ANOTHER = 20.0
"""Seconds to wait for another run in the same folder, which may be writing its last checkpoint."""


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
def alone(folder: Path, otherwise: str) -> Iterator[None]:
    """Lock the run's folder in the run's first process, or raise a `RequestError` that begins with `otherwise`.

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
        raise RequestError(f"{otherwise}: wait for it or end it.") from None


def join_processes() -> Any:
    """Load DeepSpeed and connect this process with the others of the run; give DeepSpeed's module."""
    deepspeed = load_deepspeed()
    _set_single_process_environment()
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


def _set_single_process_environment() -> None:
    """Set torchrun's variables where no launcher has set them: DeepSpeed would otherwise look for MPI."""
    single = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}
    if not os.environ.get("RANK"):
        for name, value in single.items():
            os.environ[name] = os.environ.get(name) or value
        os.environ["MASTER_PORT"] = str(launch.free_port())
