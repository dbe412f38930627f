"""Join the processes of a run: load DeepSpeed, let the first process of a machine prepare, hold the folder of a run."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from benchrunner import RequestError
from benchrunner_bert.pretraining.deepspeed import launch

PATIENCE = timedelta(days=7)
"""How long processes wait for another one that makes tokens of a corpus."""


PATIENCE_WITH_ANOTHER = 20.0
"""Seconds in which a run that was told to end may still write its checkpoint."""


def first_here(work: Callable[[], object]) -> None:
    """Do what has to be done once on each machine, by its first process; the others wait, however long it takes."""
    join_processes()
    waiting = torch.distributed.new_group(backend="gloo", timeout=PATIENCE)
    fault: BaseException | None = None
    if int(os.environ.get("LOCAL_RANK", "0")) == 0:
        try:
            work()
        except BaseException as error:  # whatever it is, the others must not wait for it
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
    """The run's first process holds its folder; the system lets go of it when that process ends, however it ends."""
    if int(os.environ.get("RANK", "0")) > 0:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / ".lock", timeout=PATIENCE_WITH_ANOTHER):
            yield
    except Timeout:
        raise RequestError(f"{otherwise}: wait for it or end it.") from None


def join_processes() -> Any:
    """DeepSpeed, with this process among the others."""
    deepspeed = _deepspeed()
    _single_process_environment()
    if not torch.distributed.is_initialized():
        deepspeed.init_distributed()
    return deepspeed


def _deepspeed() -> Any:
    """The library, quiet, and without the first-use compilation of an operation that is not needed."""
    logging.getLogger("DeepSpeed").setLevel(logging.ERROR)
    os.environ.setdefault("DS_ACCELERATOR", "cuda" if torch.cuda.is_available() else "cpu")
    try:
        import deepspeed
        from deepspeed.ops.op_builder.cpu import ShareMemCommBuilder
    except ImportError as error:
        raise RequestError(
            f"Pre-training needs DeepSpeed ({error}): install benchrunner-bert with its extra 'pretrain'."
        ) from None
    # A shared-memory all-reduce for the CPU; gloo does the same, and a minute of compiling is spared.
    ShareMemCommBuilder.is_compatible = lambda self, verbose=False: False
    return deepspeed


def _single_process_environment() -> None:
    """Without a launcher DeepSpeed would look for MPI."""
    alone = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    if "RANK" not in os.environ:
        os.environ.update({name: value for name, value in alone.items() if name not in os.environ})
        os.environ["MASTER_PORT"] = str(launch.free_port())
