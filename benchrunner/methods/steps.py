"""Steps that all methods with an encoder share: load, take over a head, encode, train, save, predict."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save_file

from benchrunner.backbones.finite_numbers import check_weights
from benchrunner.features.kernels import described
from benchrunner.fits.progress import Event
from benchrunner.io.files import write_folder_atomically
from benchrunner.io.json_form import as_json
from benchrunner.methods.method import BackboneReference, Job, Outcome
from benchrunner.training import numerics
from benchrunner.training.checkpoints import Checkpoint
from benchrunner.training.inference import Inference as Inference, Level
from benchrunner.training.loop import Training as Training

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from torch import nn

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.features.arrays import Features
    from benchrunner.features.flat_batch import FlatBatch

HEAD = "head.safetensors"
"""Name of the file with the weights that were learned on top of the encoder."""
HANDED_ON = "the head goes on from the head of the earlier fit, whose problem is the same"
"""Note of a fit that begins with the head of the finished fit that is its backbone."""

Model = Callable[["FlatBatch"], torch.Tensor]
"""Computes a head's outputs for a batch."""


def load_encoder(job: Job, *, seed: int) -> Encoder:
    """Load the encoder to train or to read, with the recipe's dropout rate.

    In training, the encoder computes its layers again in the backward pass if the job says so.
    """
    encoder = _checked_encoder(job, seed)
    if job.computing.recompute:
        encoder.recompute_layers()
    if job.fit.recipe.dropout is not None:
        encoder.set_dropout(job.fit.recipe.dropout)
    return encoder


def load_fitted_encoder(job: Job) -> Encoder:
    """Load the encoder of a finished fit, to predict with."""
    return _checked_encoder(job, job.fit.seed)


def _checked_encoder(job: Job, seed: int) -> Encoder:
    """Load the encoder of a job; raise `Diverged` if a weight is not a finite number.

    Outputs do not always show such a weight: kernels of attention give 0 for a token whose scores are NaN, and the
    embedding of a word is not read before the word occurs.
    """
    assert job.backbone is not None
    encoder = job.backbone.load(job.workspace, seed=seed)
    check_weights(encoder.named_parameters(), f"the weights of the backbone {job.backbone.name}")
    return encoder


def take_over_head(job: Job, learned: Mapping[str, nn.Module]) -> list[str]:
    """Load the head of the finished fit that is the backbone, if its problem is the same; return notes that say so."""
    if job.head is None:
        return []
    load_learned(job.head, {**learned, **job.own_layers})
    return [HANDED_ON]


def encode(job: Job, table: pa.Table, encoder: Encoder, *, training: bool) -> Features:
    """Encode the rows as features, or read them from the cache."""
    job.report(Event("encoding"))
    return job.cache.features(
        table,
        job.problem,
        encoder,
        job.fit.recipe,
        job.code,
        training=training,
        note=lambda text: job.report(Event("note", text=text)),
    )


def train(
    job: Job,
    model: Model,
    modules: Mapping[str, nn.Module],
    features: Features,
    *,
    rates: Mapping[str, float] | None = None,
    fixed_shapes: bool = False,
) -> Training:
    """Train the modules as the recipe says, or go on from the job's checkpoint; return the finished training.

    `rates` has factors of the learning rate by the name of a weight: see `Training.rates`. `fixed_shapes` says that
    CUDA graphs may compute the model on one device, if the job asks for them: the model then reads only tensors of a
    batch, and batches of fixed shape raise a `NotStatic` if other values are read.
    """
    own = {name: layers.to(job.computing.device) for name, layers in job.own_layers.items()}
    training = Training(
        model=_with_own_layers(job, model),
        modules={**modules, **own},
        features=features,
        problem=job.problem,
        recipe=job.fit.recipe,
        seed=job.fit.seed,
        computing=job.computing if fixed_shapes else dataclasses.replace(job.computing, cuda_graphs=False),
        checkpoint=Checkpoint(
            job.checkpoint,
            of=job.fit.id,
            shorter=job.fit.shorter,
            kernels=described(job.kernels),
            devices=job.computing.devices,
        ),
        log=job.log,
        last_state=None if job.last_state is None else Checkpoint(job.last_state, of=job.fit.id),
        report=lambda step, steps, figures: job.report(Event("step", step, steps, figures=figures)),
        note=lambda text: job.report(Event("note", text=text)),
        rates=rates or {},
        kernels=job.kernels,
        shared=job.team is not None,
    )
    if job.team is None:
        training.run()
    else:
        job.team.run(job, training)
    return training


def _with_own_layers(job: Job, model: Model) -> Model:
    """Let a model give what the layers that the problem owns make of a head's outputs, in fp32."""

    def outputs(batch: FlatBatch) -> torch.Tensor:
        given = model(batch)
        with torch.autocast(given.device.type, enabled=False):
            for layers in job.own_layers.values():
                given = layers(given.float())
        return given

    return outputs if job.own_layers else model


def save(job: Job, encoder: Encoder, learned: Mapping[str, nn.Module]) -> None:
    """Write the encoder and the modules that were learned on top of it to the job's model folder.

    The folder gets what `save_encoder` writes, the modules' weights in `head.safetensors`, and what the head is for in
    `head.json`. Raises `Diverged` if a weight that was learned on top is not a finite number.
    """
    tensors: dict[str, torch.Tensor] = {}
    for part, module in {**learned, **job.own_layers}.items():
        weights = module.cpu().state_dict()
        named = [(f"{part}.{name}", tensor) for name, tensor in weights.items()]
        check_weights(named, "the learned weights")
        for name, tensor in weights.items():
            tensors[_key(part, name)] = tensor.contiguous()
    facts = {"problem": job.problem.identity(), "method": job.fit.method}

    def write(folder: Path) -> None:
        save_encoder(job, encoder, folder)
        save_file(tensors, folder / HEAD)
        (folder / "head.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")

    write_folder_atomically(job.model, write)


def save_encoder(job: Job, encoder: Encoder, folder: Path) -> None:
    """Write the encoder's files to a folder, or which backbone it is where the method left it unchanged."""
    if job.reference is None:
        encoder.cpu().save(folder)
    else:
        text = json.dumps(as_json(job.reference), indent=2, ensure_ascii=False)
        (folder / BackboneReference.FILE).write_text(f"{text}\n", encoding="utf-8")


def learned_weights(folder: Path) -> dict[str, torch.Tensor]:
    """Read the weights that `save` wrote for the modules on top; raise `Diverged` if one is not a finite number."""
    tensors: dict[str, torch.Tensor] = load_file(folder / HEAD)
    check_weights(tensors.items(), f"the weights in {folder / HEAD}")
    return tensors


def load_learned(folder: Path, learned: Mapping[str, nn.Module]) -> None:
    """Load the weights that `save` wrote into the learned modules; raise `Diverged` if one is not a finite number."""
    if not learned:
        return
    tensors = learned_weights(folder)
    for part, module in learned.items():
        weights = {name: tensors[_key(part, name)] for name in module.state_dict()}
        module.load_state_dict(weights)


def _key(part: str, name: str) -> str:
    """Name a learned weight in the file: the weights of the module `head` keep their names, others get a prefix."""
    return name if part == "head" else f"{part}.{name}"


def outcome(
    training: Training,
    encode_seconds: float,
    notes: Sequence[str],
) -> Outcome:
    """Describe how a training ended."""
    diverged = training.diverged is not None
    return Outcome(
        status="diverged" if diverged else "done",
        reason=training.divergence_reason if diverged else "",
        timings={"encode_seconds": encode_seconds, **training.timings},
        work=training.work,
        numerics=numerics.of(training),
        notes=(*notes, *training.notes),
    )


def predict(
    job: Job,
    model: Model,
    features: Features,
    level: Level,
) -> np.ndarray:
    """Compute the outputs for all features, in their order: the head's, seen by the layers that the problem owns."""
    load_learned(job.model, job.own_layers)
    for layers in job.own_layers.values():
        layers.to(job.computing.device).eval()
    return inference(job).predict(_with_own_layers(job, model), features, level)


def inference(job: Job) -> Inference:
    """Return how a job computes without gradients."""
    return Inference(
        torch.device(job.computing.device),
        job.fit.recipe.precision,
        job.fit.recipe.micro_tokens,
        report=lambda done, total: job.report(Event("predicting", done, total)),
        kernels=job.kernels,
    )


def numerics_of_frozen(job: Job, encoder: Encoder, *, libraries: Sequence[str] = ()) -> dict[str, Any]:
    """Describe the numerics of a frozen encoder, for records and keys of caches; `libraries` train the head."""
    return numerics.of_frozen(job.computing.device, job.fit.recipe, encoder, libraries=libraries, kernels=job.kernels)
