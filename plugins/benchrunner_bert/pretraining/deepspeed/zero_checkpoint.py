"""Read a folder that DeepSpeed's save_checkpoint wrote, at any ZeRO stage and by any number of processes.

DeepSpeed itself puts the weights together. Its files are pickles, but no code from them runs: see `only_data`.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pickle
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from benchrunner import CheckpointError
from benchrunner.engine import first_line
from benchrunner_bert.pretraining.deepspeed.processes import load_deepspeed

CLASSES = (
    "deepspeed.runtime.fp16.loss_scaler.LossScaler",
    "deepspeed.runtime.fp16.loss_scaler.DynamicLossScaler",
    "deepspeed.utils.tensor_fragment.fragment_address",
    "deepspeed.runtime.zero.config.ZeroStageEnum",
)
"""Classes that the files may hold besides tensors and plain values."""
_MODELS, _OPTIMIZERS = "*mp_rank_00_model_states.pt", "*_optim_states.pt"
_WHOLE = "mp_rank_00_model_states.pt"
"""File of the module at the stages 0 to 2; at stage 3, each process has a file."""
_HALVES = (torch.float16, torch.bfloat16)
_FORCE_DATA, _FORCE_CODE = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
"""Environment variables that torch's loader reads. The first also changes calls that ask for code."""


@dataclass(frozen=True)
class Weights:
    """The weights of a checkpoint."""

    tensors: dict[str, torch.Tensor]
    """Whole weights in fp32, by the names that they were trained with."""
    steps: int
    rounded: bool
    """Whether the files have some weights in half precision only, as at stage 0."""


def find(folder: Path) -> Path | None:
    """Find the folder with a checkpoint's files: this folder, or the folder in it that the file `latest` names.

    None where this is no folder of DeepSpeed checkpoints.
    """
    if any(folder.glob(_MODELS)):
        return folder
    checkpoints = sorted({path.parent.name for path in folder.glob(f"*/{_MODELS}")})
    if not checkpoints:
        return None
    latest = folder / "latest"
    name = latest.read_text(encoding="utf-8", errors="replace").strip() if latest.is_file() else ""
    if name not in checkpoints:
        listed = ", ".join(checkpoints[:12]) + (", ..." if len(checkpoints) > 12 else "")
        raise CheckpointError(f"{latest} names none of the checkpoints there: name the folder of one ({listed}).")
    return folder / name


def read(folder: Path) -> Weights:
    """Read a folder that `find` found; raise a `CheckpointError` if a file is missing, damaged, or holds code."""
    load_deepspeed()
    from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint

    said = io.StringIO()  # DeepSpeed prints what it does
    try:
        with only_data(), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            path = min(folder.glob(_MODELS))
            first = torch.load(path, map_location="cpu", weights_only=True)
            tensors = dict[str, torch.Tensor](first["module"] if path.name == _WHOLE else {})
            exact = dict[str, torch.Tensor]()
            if any(folder.glob(_OPTIMIZERS)):  # from stage 1 on; at stage 1 without what was frozen
                exact = get_fp32_state_dict_from_zero_checkpoint(str(folder.parent), tag=folder.name)
        steps = int(first["global_steps"])
    except Exception as error:  # a file that is cut, damaged or foreign raises many kinds
        code = re.search(r"GLOBAL (\S+)", str(error)) if isinstance(error, pickle.UnpicklingError) else None
        if code:
            raise CheckpointError(
                f"{folder} holds {code[1]}, which is none of the classes that are read ({', '.join(CLASSES)}): such a "
                "file can run any code. Write the checkpoint again without it (client_state is the place for own "
                "values)."
            ) from None
        raise CheckpointError(
            f"{folder}: not a checkpoint that can be read ({first_line(error)}). Was it written by DeepSpeed's "
            "save_checkpoint, without model or expert parallelism, and are the files of all machines there?"
        ) from None
    rounded = any(tensor.dtype in _HALVES for name, tensor in tensors.items() if name not in exact)
    tensors |= exact
    single = {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
    return Weights(single, steps, rounded)


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
