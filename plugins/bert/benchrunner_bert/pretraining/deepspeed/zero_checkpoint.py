"""DeepSpeed's checkpoint folders, of any ZeRO stage and any number of processes, as whole fp32 weights.

Nothing of DeepSpeed is needed for it, and nothing in the files is run: torch's weights_only loader reads them, and what
DeepSpeed's own few classes become here is listed below. A folder holds the module's weights, once or by the process,
and from stage 1 on each process's share of the optimizer's fp32 weights, flat, several parameters one after another.
"""

from __future__ import annotations

import math
import pickle
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, NoReturn

import torch

from benchrunner import CheckpointError, first_line

LATEST = "latest"
"""The file that names the newest of a folder's checkpoints."""

_MODEL = re.compile(r"(?:zero_pp_rank_(\d+)_)?mp_rank_(\d+)_model_states\.pt")
_SHARE = re.compile(r"(?:bf16_)?zero_pp_rank_(\d+)_mp_rank_(\d+)_?optim_states\.pt")
_HALVES = (torch.float16, torch.bfloat16)

Tensors = dict[str, torch.Tensor]


class Unread:
    """What objects of DeepSpeed's become that nothing here looks into."""


CLASSES: Mapping[str, type] = {
    "deepspeed.runtime.fp16.loss_scaler.LossScaler": Unread,
    "deepspeed.runtime.fp16.loss_scaler.DynamicLossScaler": Unread,
    "deepspeed.utils.tensor_fragment.fragment_address": Unread,
    "deepspeed.runtime.zero.config.ZeroStageEnum": int,
}
"""All that may be in the files beside tensors and plain values, and what it is read as."""


@dataclass(frozen=True)
class Weights:
    """A checkpoint put together."""

    tensors: Tensors
    """fp32, whole, by the names that they were trained under."""
    added: Mapping[str, Any]
    """Everything else in the first process's file: what the program that trained it gave along is there too."""
    stage: int
    processes: int
    steps: int
    rounded: bool = False
    """Whether the weights are those that a half-precision module holds, since no fp32 ones were found for them."""


def find(folder: Path) -> Path | None:
    """Where a checkpoint's files are: in the folder that `latest` names, or in this one; None where it is no such."""
    if next(_files(folder, _MODEL), None) is not None:
        return folder
    inside = sorted(one.name for one in folder.iterdir() if one.is_dir() and next(_files(one, _MODEL), None))
    if not inside:
        return None
    latest = folder / LATEST
    name = latest.read_text(encoding="utf-8", errors="replace").strip() if latest.is_file() else ""
    if name not in inside:
        listed = ", ".join(inside[:12]) + (", ..." if len(inside) > 12 else "")
        state = f"{latest} names '{name}', which is not there" if latest.is_file() else f"{folder} has no file {LATEST}"
        raise CheckpointError(f"{state}: say which of its checkpoints is meant by its own folder ({listed}).")
    return folder / name


def read(folder: Path) -> Weights:
    """Everything in a folder that `find` found; a `CheckpointError` where a file is missing, cut or foreign."""
    models, shares = dict(_files(folder, _MODEL)), dict(_files(folder, _SHARE))
    if 0 not in models:
        raise CheckpointError(f"{folder}: the first process's *_model_states.pt is missing.")
    first = _load(models[0])
    try:
        processes = int(first["dp_world_size"])
        _check_ranks(folder, shares, processes if shares else 0, "optim_states.pt")
        states = [_load(shares[rank])["optimizer_state_dict"] for rank in sorted(shares)]
        stage = _stage(folder, states, processes)
        if stage == 3:
            _check_ranks(folder, models, processes, "model_states.pt")
            others = [_load(models[rank]) for rank in range(1, processes)]
            tensors, rounded = _cut(folder, [first, *others], states), False
        else:
            tensors, rounded = _whole(folder, first, states)
        tensors |= {name: tensors[other] for name, other in (first.get("shared_params") or {}).items()}
        single = {name: one.float() if one.is_floating_point() else one for name, one in tensors.items()}
        return Weights(single, first, stage, processes, int(first["global_steps"]), rounded)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as error:
        raise CheckpointError(
            f"{folder}: nothing that this version can read ({type(error).__name__}: {error}). Was it written by "
            "DeepSpeed's save_checkpoint, without model or expert parallelism?"
        ) from None


def _files(folder: Path, pattern: re.Pattern[str]) -> Iterator[tuple[int, Path]]:
    """By the process that wrote them."""
    found = dict[int, Path]()
    for path in sorted(folder.iterdir()):
        if match := pattern.fullmatch(path.name):
            rank = int(match[1] or 0)
            if int(match[2]):
                raise CheckpointError(f"{path}: a part of a model that was split over processes, which cannot be read.")
            if rank in found:
                raise CheckpointError(f"{folder}: {found[rank].name} and {path.name} are of two checkpoints; keep one.")
            found[rank] = path
    yield from sorted(found.items())


def _check_ranks(folder: Path, found: Mapping[int, Path], processes: int, kind: str) -> None:
    """All processes' files and no others: a process that died, or an older checkpoint underneath."""
    said = f"the first process's file says that {processes} wrote it"
    if missing := sorted(set(range(processes)) - found.keys()):
        ranks = ", ".join(map(str, islice(missing, 8))) + (", ..." if len(missing) > 8 else "")
        raise CheckpointError(
            f"{folder}: zero_pp_rank_N_..._{kind} is missing for N = {ranks} ({said}). Bring the files of all "
            "machines together, or name an older checkpoint."
        )
    if more := sorted(found.keys() - set(range(processes))):
        raise CheckpointError(f"{folder}: {found[more[0]].name} is of another checkpoint ({said}); move it away.")


def _load(path: Path) -> dict[str, Any]:
    try:
        with torch.serialization.safe_globals([(kind, name) for name, kind in CLASSES.items()]):
            # Mapped, so that the moments, two thirds of every share, are never read.
            found = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except Exception as error:  # a cut or damaged file raises many kinds
        _refuse(path, error)
    if not isinstance(found, dict):
        raise CheckpointError(f"{path}: a table was expected, found {type(found).__name__}.")
    return found


def _refuse(path: Path, error: Exception) -> NoReturn:
    named = re.search(r"GLOBAL (\S+)", str(error)) if isinstance(error, pickle.UnpicklingError) else None
    if named:
        raise CheckpointError(
            f"{path} holds {named[1]}, which is none of the classes that are read ({', '.join(CLASSES)}): such a file "
            "can run anything. Write the checkpoint again without it (client_state is where own values go)."
        ) from None
    raise CheckpointError(f"{path} cannot be read: it is cut or damaged ({first_line(error)}).") from None


def _stage(folder: Path, states: Sequence[Mapping[str, Any]], processes: int) -> int:
    """The stage that all shares are of; 0 where there is none."""
    stages = {int(one.get("zero_stage", 1)) for one in states} or {0}
    for rank, one in enumerate(states):
        counts = one["partition_count"]
        if max(counts if isinstance(counts, list) else [counts]) != processes:
            raise CheckpointError(
                f"{folder}: process {rank}'s share is one of {counts}, but {processes} wrote the checkpoint: the "
                "files are of several."
            )
    if len(stages) > 1:
        raise CheckpointError(f"{folder}: shares of the ZeRO stages {sorted(stages)}: the files are of several.")
    return stages.pop()


def _whole(folder: Path, first: Mapping[str, Any], states: Sequence[Mapping[str, Any]]) -> tuple[Tensors, bool]:
    """Stages 0 to 2: the module is whole in the first process's file; and whether it is rounded."""
    tensors: Tensors = dict(first["module"])
    exact = _flat(folder, first, states) if states else _unsharded(first)
    return tensors | (exact or {}), exact is None and any(one.dtype in _HALVES for one in tensors.values())


def _flat(folder: Path, first: Mapping[str, Any], states: Sequence[Mapping[str, Any]]) -> Tensors:
    """Stages 1 and 2: each group of parameters is one row of numbers, padded at its end and cut into shares."""
    found, align = Tensors(), 2 * len(states)  # DeepSpeed pads a group to twice the number of processes
    between = states[0].get("param_alignment_paddings") or [[0] * len(shapes) for shapes in first["param_shapes"]]
    for number, shapes in enumerate(first["param_shapes"]):
        row = torch.cat([one["single_partition_of_fp32_groups"][number].detach() for one in states])
        sizes = [math.prod(shape) + padding for shape, padding in zip(shapes.values(), between[number], strict=True)]
        if math.ceil(sum(sizes) / align) != math.ceil(len(row) / align):
            raise CheckpointError(
                f"{folder}: group {number} of the parameters has {sum(sizes):,} numbers, its shares have {len(row):,}: "
                "the files are of several checkpoints."
            )
        starts = accumulate(sizes, initial=0)
        for (name, shape), at in zip(shapes.items(), starts, strict=False):
            found[name] = row[at : at + math.prod(shape)].view(shape)
    return found


def _cut(folder: Path, models: Sequence[Mapping[str, Any]], states: Sequence[Mapping[str, Any]]) -> Tensors:
    """Stage 3: every parameter is cut, so that each process has as much of it; what is frozen is in no optimizer."""
    first = models[0]
    found = {name: first["module"][name] for name in first["buffer_names"]}
    for name, shape in (first.get("frozen_param_shapes") or {}).items():
        parts = [one["frozen_param_fragments"][name].detach().flatten() for one in models]
        found[name] = torch.cat(parts)[: math.prod(shape)].view(shape)
    rows = [torch.cat([part.detach() for part in one["fp32_flat_groups"]]) for one in states]
    shapes = {name: shape for group in first["param_shapes"] for name, shape in group.items()}
    sizes = [math.ceil(math.prod(shape) / len(rows)) for shape in shapes.values()]
    if any(len(row) != sum(sizes) for row in rows):
        raise CheckpointError(
            f"{folder}: the processes' shares have {', '.join(f'{len(row):,}' for row in rows)} numbers, "
            f"{sum(sizes):,} were expected of each: the files are of several checkpoints."
        )
    for (name, shape), size, at in zip(shapes.items(), sizes, accumulate(sizes, initial=0), strict=False):
        found[name] = torch.cat([row[at : at + size] for row in rows])[: math.prod(shape)].view(shape)
    return found


def _unsharded(first: Mapping[str, Any]) -> Tensors | None:
    """Stage 0: the optimizer keeps fp32 weights of a half-precision module without their names.

    They are told by their order, and by what they round to; None where that does not account for all of them.
    """
    optimizer = first.get("optimizer") or {}
    groups = optimizer.get("fp32_groups") or optimizer.get("fp32_groups_flat") or []
    rows = [torch.cat([part.detach().flatten() for part in ([one] if torch.is_tensor(one) else one)]) for one in groups]
    found, places, at = Tensors(), dict[int, torch.Tensor](), [0] * len(rows)
    for name, weight in first["module"].items():
        if weight.data_ptr() in places:  # shared with one before it
            found[name] = places[weight.data_ptr()]
            continue
        for number, row in enumerate(rows):
            part = row[at[number] : at[number] + weight.numel()]
            if weight.numel() and torch.equal(part.to(weight.dtype), weight.flatten()):
                found[name] = places[weight.data_ptr()] = part.view(weight.shape)
                at[number] += weight.numel()
                break
    return found if rows and at == [len(row) for row in rows] else None
