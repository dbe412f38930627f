"""What a fit leaves in its folder: the encoder in its family's layout, and what was learned on top of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner.progress import Event

if TYPE_CHECKING:
    import pyarrow as pa
    import torch
    from torch import nn

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.features.arrays import Features
    from benchrunner.features.flat_batch import FlatBatch
    from benchrunner.methods.method import Job
    from benchrunner.training.loop import Training

HEAD = "head.safetensors"
HANDED_ON = "the head goes on from the earlier fit's, whose problem is the same"
"""A note."""


def save(folder: Path, encoder: Encoder, learned: Mapping[str, nn.Module], job: Job) -> None:
    """The head's weights bear their own names, those of other modules the module's in front."""
    from safetensors.torch import save_file

    encoder.save(folder)
    tensors = {
        _name(module, name): one.contiguous()
        for module, weights in learned.items()
        for name, one in weights.state_dict().items()
    }
    save_file(tensors, folder / HEAD)
    (folder / "head.json").write_text(
        json.dumps({"problem": job.problem.identity(), "method": job.fit.method}, indent=2) + "\n", encoding="utf-8"
    )


def load(learned: Mapping[str, nn.Module], folder: Path) -> None:
    """Put back what `save` wrote."""
    from safetensors.torch import load_file

    tensors = load_file(folder / HEAD)
    for module, weights in learned.items():
        weights.load_state_dict({name: tensors[_name(module, name)] for name in weights.state_dict()})


def _name(module: str, name: str) -> str:
    return name if module == "head" else f"{module}.{name}"


def encode(job: Job, table: pa.Table, encoder: Encoder, *, training: bool) -> Features:
    """The rows as features, from the cache where they are."""
    return job.cache.features(table, job.problem, encoder, job.fit.recipe, job.code, training=training)


def training(
    job: Job,
    model: Callable[[FlatBatch], torch.Tensor],
    modules: Mapping[str, nn.Module],
    features: Features,
) -> Training:
    """The loop for a job's recipe, not yet run."""
    import torch

    from benchrunner.training.checkpoints import Checkpoint
    from benchrunner.training.loop import Training

    return Training(
        model=model,
        modules=modules,
        features=features,
        problem=job.problem,
        recipe=job.fit.recipe,
        seed=job.fit.seed,
        device=torch.device(job.device),
        checkpoint=Checkpoint(job.checkpoint),
        log=job.log,
        report=lambda step, steps: job.report(Event("step", step, steps)),
        checkpoint_seconds=job.checkpoint_seconds,
    )
