"""Put DeepSpeed's checkpoints together, of any ZeRO stage and any number of processes, as whole fp32 weights.

A checkpoint holds the module's weights, in one file or in one per process. From stage 1 on, it also holds the
optimizer's fp32 weights: one file per process with its share of a flat row, in which all parameters of a group stand
one after another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchrunner import CheckpointError
from benchrunner_bert.pretraining.deepspeed.zero_files import MODEL, SHARE, check_ranks, files_by_rank, load

DESCRIPTION = "benchrunner"
"""Key under which a checkpoint of `benchrunner pretrain` describes its model, as JSON."""

_HALVES = (torch.float16, torch.bfloat16)

Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Weights:
    """The content of a checkpoint."""

    tensors: Tensors
    """Whole fp32 weights, by the names that they were trained with."""
    added: Mapping[str, Any]
    """Everything else in the first process's file, such as values of the program that trained the model."""
    stage: int
    processes: int
    steps: int
    rounded: bool = False
    """Whether the weights are those of a half-precision module, because their fp32 weights could not be identified."""


def read(folder: Path) -> Weights:
    """Read a folder that `find` found; raise a `CheckpointError` if a file is missing, cut or foreign."""
    models = dict(files_by_rank(folder, MODEL))
    shares = dict(files_by_rank(folder, SHARE))
    if 0 not in models:
        raise CheckpointError(f"{folder}: the first process's *_model_states.pt is missing.")
    first = load(models[0])
    try:
        processes = int(first["dp_world_size"])
        check_ranks(folder, shares, processes if shares else 0, "optim_states.pt")
        states = [load(shares[rank])["optimizer_state_dict"] for rank in sorted(shares)]
        stage = _stage(folder, states, processes)
        if stage == 3:
            check_ranks(folder, models, processes, "model_states.pt")
            rest = [load(models[rank]) for rank in range(1, processes)]
            tensors = _partitioned(folder, [first, *rest], states)
            rounded = False
        else:
            tensors, rounded = _whole(folder, first, states)
        tensors |= {name: tensors[source] for name, source in (first.get("shared_params") or {}).items()}
        single = {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
        return Weights(single, first, stage, processes, int(first["global_steps"]), rounded)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as error:
        raise CheckpointError(
            f"{folder}: not a checkpoint that this version can read ({type(error).__name__}: {error}). Was it written "
            "by DeepSpeed's save_checkpoint, without model or expert parallelism?"
        ) from None


def _stage(folder: Path, states: Sequence[Mapping[str, Any]], processes: int) -> int:
    """Give the stage of all shares; 0 where there are none."""
    stages = {int(state.get("zero_stage", 1)) for state in states} or {0}
    for rank, state in enumerate(states):
        counts = state["partition_count"]
        count = max(counts) if isinstance(counts, list) else counts
        if count != processes:
            raise CheckpointError(
                f"{folder}: process {rank}'s share is one of {counts}, but {processes} wrote the checkpoint: the "
                "files are of several checkpoints."
            )
    if len(stages) > 1:
        raise CheckpointError(
            f"{folder}: shares of the ZeRO stages {sorted(stages)}: the files are of several checkpoints."
        )
    return stages.pop()


def _whole(folder: Path, first: Mapping[str, Any], states: Sequence[Mapping[str, Any]]) -> tuple[Tensors, bool]:
    """Read stages 0 to 2: the first process's file holds the whole module. Also say whether weights are rounded."""
    rounded: Tensors = dict(first["module"])
    exact = _flat(folder, first, states) if states else _unsharded(first)
    if exact is None:
        return rounded, any(tensor.dtype in _HALVES for tensor in rounded.values())
    return rounded | exact, False


def _flat(folder: Path, first: Mapping[str, Any], states: Sequence[Mapping[str, Any]]) -> Tensors:
    """Read stages 1 and 2: a group of parameters is one row of numbers, padded at its end and cut into shares."""
    tensors = Tensors()
    align = 2 * len(states)  # DeepSpeed pads a group to a multiple of twice the processes
    paddings = states[0].get("param_alignment_paddings") or [[0] * len(shapes) for shapes in first["param_shapes"]]
    for group, shapes in enumerate(first["param_shapes"]):
        row = torch.cat([state["single_partition_of_fp32_groups"][group].detach() for state in states])
        sizes = [math.prod(shape) + padding for shape, padding in zip(shapes.values(), paddings[group], strict=True)]
        if math.ceil(sum(sizes) / align) != math.ceil(len(row) / align):
            raise CheckpointError(
                f"{folder}: group {group} of the parameters has {sum(sizes):,} numbers, its shares have {len(row):,}: "
                "the files are of several checkpoints."
            )
        start = 0
        for (name, shape), size in zip(shapes.items(), sizes, strict=True):
            tensors[name] = row[start : start + math.prod(shape)].view(shape)
            start += size
    return tensors


def _partitioned(folder: Path, models: Sequence[Mapping[str, Any]], states: Sequence[Mapping[str, Any]]) -> Tensors:
    """Read stage 3: every parameter is cut into equal parts, one per process.

    Frozen parameters are in the files of the module, because the optimizer does not have them.
    """
    first = models[0]
    tensors = {name: first["module"][name] for name in first["buffer_names"]}
    for name, shape in (first.get("frozen_param_shapes") or {}).items():
        parts = [model["frozen_param_fragments"][name].detach().flatten() for model in models]
        tensors[name] = _joined(parts, shape)
    rows: list[torch.Tensor] = []
    for state in states:
        groups = [group.detach() for group in state["fp32_flat_groups"]]
        rows.append(torch.cat(groups))
    shapes = dict[str, torch.Size]()
    for group in first["param_shapes"]:
        shapes |= group
    sizes = [math.ceil(math.prod(shape) / len(rows)) for shape in shapes.values()]
    if any(len(row) != sum(sizes) for row in rows):
        counts = ", ".join(f"{len(row):,}" for row in rows)
        raise CheckpointError(
            f"{folder}: the processes' shares have {counts} numbers, {sum(sizes):,} were expected of each: the files "
            "are of several checkpoints."
        )
    start = 0
    for (name, shape), size in zip(shapes.items(), sizes, strict=True):
        tensors[name] = _joined([row[start : start + size] for row in rows], shape)
        start += size
    return tensors


def _joined(parts: Sequence[torch.Tensor], shape: torch.Size) -> torch.Tensor:
    """Join the parts of a parameter, without the padding after the last."""
    return torch.cat(list(parts))[: math.prod(shape)].view(shape)


def _unsharded(first: Mapping[str, Any]) -> Tensors | None:
    """Read stage 0, where the optimizer keeps the fp32 weights of a half-precision module without their names.

    They are identified by their order and by the values that they round to; None where this does not identify all.
    """
    optimizer = first.get("optimizer") or {}
    groups = optimizer.get("fp32_groups") or optimizer.get("fp32_groups_flat") or []
    rows = [_flat_row(group) for group in groups]
    tensors = Tensors()
    by_storage = dict[int, torch.Tensor]()
    used = [0] * len(rows)
    for name, weight in first["module"].items():
        storage = weight.data_ptr()
        if storage in by_storage:  # shared with an earlier weight
            tensors[name] = by_storage[storage]
            continue
        size = weight.numel()
        for number, row in enumerate(rows):
            part = row[used[number] : used[number] + size]
            if size and torch.equal(part.to(weight.dtype), weight.flatten()):
                tensors[name] = part.view(weight.shape)
                by_storage[storage] = tensors[name]
                used[number] += size
                break
    return tensors if rows and used == [len(row) for row in rows] else None


def _flat_row(group: torch.Tensor | Sequence[torch.Tensor]) -> torch.Tensor:
    parts = [group] if isinstance(group, torch.Tensor) else group
    return torch.cat([part.detach().flatten() for part in parts])
