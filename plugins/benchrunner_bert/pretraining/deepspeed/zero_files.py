"""Find and load the files of DeepSpeed's checkpoint folders.

The files are pickles, but no code from them runs: torch's weights_only loader reads them, and `CLASSES` lists the few
classes of DeepSpeed in the files. `load` needs no DeepSpeed; `only_data` lets DeepSpeed itself read in this way.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import re
import zipfile
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import torch

from benchrunner import CheckpointError
from benchrunner.engine import first_line

LATEST = "latest"
"""File that names the newest of a folder's checkpoints."""

MODEL = re.compile(r"(?:zero_pp_rank_(\d+)_)?mp_rank_(\d+)_model_states\.pt")
"""Files of the module: (rank of the process, rank of a part of a split model)."""
SHARE = re.compile(r"(?:bf16_)?zero_pp_rank_(\d+)_mp_rank_(\d+)_?optim_states\.pt")
"""Files of the optimizer: (rank of the process, rank of a part of a split model)."""


_FORCE_DATA, _FORCE_CODE = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
"""Environment variables that torch's loader reads. The first also changes calls that ask for code."""


class Unread:
    """Stands for objects of DeepSpeed whose content is not needed."""


CLASSES: Mapping[str, type] = {
    "deepspeed.runtime.fp16.loss_scaler.LossScaler": Unread,
    "deepspeed.runtime.fp16.loss_scaler.DynamicLossScaler": Unread,
    "deepspeed.utils.tensor_fragment.fragment_address": Unread,
    "deepspeed.runtime.zero.config.ZeroStageEnum": int,
}
"""Classes that the files may hold besides tensors and plain values -> classes that they are read as."""


def find(folder: Path) -> Path | None:
    """Find the folder with a checkpoint's files: this folder, or the folder in it that `latest` names.

    None where this is no folder of DeepSpeed checkpoints.
    """
    if next(files_by_rank(folder, MODEL), None) is not None:
        return folder
    checkpoints = sorted(
        path.name for path in folder.iterdir() if path.is_dir() and next(files_by_rank(path, MODEL), None)
    )
    if not checkpoints:
        return None
    latest = folder / LATEST
    name = latest.read_text(encoding="utf-8", errors="replace").strip() if latest.is_file() else ""
    if name not in checkpoints:
        listed = ", ".join(checkpoints[:12]) + (", ..." if len(checkpoints) > 12 else "")
        state = f"{latest} names '{name}', which is not there" if latest.is_file() else f"{folder} has no file {LATEST}"
        raise CheckpointError(f"{state}: name the folder of one of its checkpoints ({listed}).")
    return folder / name


def files_by_rank(folder: Path, pattern: re.Pattern[str]) -> Iterator[tuple[int, Path]]:
    """Give the files of a kind by the rank of the process that wrote them."""
    files = dict[int, Path]()
    for path in sorted(folder.iterdir()):
        if match := pattern.fullmatch(path.name):
            rank = int(match[1] or 0)
            if int(match[2]):
                raise CheckpointError(f"{path}: a part of a model that was split over processes, which cannot be read.")
            if rank in files:
                raise CheckpointError(f"{folder}: {files[rank].name} and {path.name} are of two checkpoints; keep one.")
            files[rank] = path
    yield from sorted(files.items())


def check_ranks(folder: Path, files: Mapping[int, Path], processes: int, kind: str) -> None:
    """Check that each process wrote a file of a kind: a process may have died, an older checkpoint may lie beneath."""
    reason = f"the first process's file says that {processes} wrote it"
    if missing := sorted(set(range(processes)) - files.keys()):
        ranks = ", ".join(map(str, islice(missing, 8))) + (", ..." if len(missing) > 8 else "")
        raise CheckpointError(
            f"{folder}: zero_pp_rank_N_..._{kind} is missing for N = {ranks} ({reason}). Bring the files of all "
            "machines together, or name an older checkpoint."
        )
    if more := sorted(files.keys() - set(range(processes))):
        raise CheckpointError(f"{folder}: {files[more[0]].name} is of another checkpoint ({reason}); move it away.")


def load(path: Path) -> dict[str, Any]:
    try:
        with torch.serialization.safe_globals([(kind, name) for name, kind in CLASSES.items()]):
            # Memory-mapped: two thirds of a share are moments, which are never read.
            content = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except Exception as error:  # a cut or damaged file raises many kinds
        _refuse(path, error)
    if not isinstance(content, dict):
        raise CheckpointError(f"{path}: a dictionary was expected, found {type(content).__name__}.")
    return content


@contextlib.contextmanager
def only_data() -> Iterator[None]:
    """Let every `torch.load` of the block, also inside DeepSpeed, read tensors, plain values and `CLASSES` only."""
    places = (name.rpartition(".") for name in CLASSES)
    classes = [getattr(importlib.import_module(module), name) for module, _, name in places]
    before = {name: os.environ.pop(name, None) for name in (_FORCE_DATA, _FORCE_CODE)}
    os.environ[_FORCE_DATA] = "1"
    try:
        with torch.serialization.safe_globals(classes):
            yield
    finally:
        os.environ.pop(_FORCE_DATA)
        os.environ.update({name: value for name, value in before.items() if value is not None})


def code_in(error: Exception) -> str:
    """Name what a file holds besides data, if this made torch's loader raise the error; else give an empty text."""
    found = re.search(r"GLOBAL (\S+)", str(error)) if isinstance(error, pickle.UnpicklingError) else None
    return found[1] if found else ""


def _refuse(path: Path, error: Exception) -> NoReturn:
    """Raise the error for a file that the loader refused."""
    if name := code_in(error):
        raise CheckpointError(
            f"{path} holds {name}, which is none of the classes that are read ({', '.join(CLASSES)}): such a file "
            "can run any code. Write the checkpoint again without it (client_state is the place for own values)."
        ) from None
    raise CheckpointError(f"{path} cannot be read: it is cut or damaged ({first_line(error)}).") from None
