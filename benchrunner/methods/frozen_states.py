"""The hidden states of a frozen encoder: computed once for a data set, and cached in a file for each layer."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from benchrunner.errors import FitError
from benchrunner.features.arrays import Features
from benchrunner.features.flat_batch import collate, micro_batches, rounding
from benchrunner.locks import held
from benchrunner.progress import Event

if TYPE_CHECKING:
    from benchrunner.backbones.encoder import Encoder
    from benchrunner.methods.method import Job

KIND = np.float16
"""Type of the cached states. Half precision rounds by 1 / 2048 and halves files that can be many gigabytes."""


def depth(encoder: Encoder, features: Features, device: torch.device) -> int:
    """Count the encoder's layers above the embeddings."""
    batch = collate(features, np.arange(1), device)
    with torch.inference_mode():
        return sum(1 for _ in encoder.hidden_states(batch)) - 1


def states(encoder: Encoder, features: Features, layers: Sequence[int], job: Job) -> list[np.ndarray]:
    """Give the states of each layer, (tokens, hidden) in the order of the features, computed or from the cache."""
    folder = job.cache.folder / "states" / _key(features, job)
    files = {layer: folder / f"layer-{layer:02}.npy" for layer in layers}
    if _missing(files, features, encoder):
        waiting = Event("waiting", text="another process computes the same states")
        with held(folder, lambda: job.report(waiting)):
            _fill(folder, files, encoder, features, job)
    return [np.load(file, mmap_mode="r", allow_pickle=False) for file in files.values()]


def _fill(folder: Path, files: Mapping[int, Path], encoder: Encoder, features: Features, job: Job) -> None:
    """Compute the missing files and remove what a killed process left. The caller holds the folder's lock."""
    for leftover in folder.glob("*.part"):
        shutil.rmtree(leftover, ignore_errors=True)
    if missing := _missing(files, features, encoder):
        part = Path(tempfile.mkdtemp(dir=folder, suffix=".part"))
        try:
            _compute(encoder, features, {layer: part / files[layer].name for layer in missing}, job)
            for layer in missing:
                (part / files[layer].name).replace(files[layer])
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _key(features: Features, job: Job) -> str:
    """Hash what the states on one machine depend on: weights, sequences, numerics and versions of the code."""
    request = (job.fit.revision, job.fit.recipe.precision, sorted(job.code.items()))
    numerics = (torch.device(job.device).type, torch.get_num_threads(), job.fit.recipe.micro_tokens, torch.__version__)
    digest = hashlib.sha256(repr((request, numerics)).encode())
    for part in (features.tokens, features.segments, features.starts):
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()[:16]


def _missing(files: Mapping[int, Path], features: Features, encoder: Encoder) -> list[int]:
    return [layer for layer, file in files.items() if not _whole(file, features, encoder)]


def _whole(file: Path, features: Features, encoder: Encoder) -> bool:
    with contextlib.suppress(OSError, ValueError, EOFError):
        states = np.load(file, mmap_mode="r", allow_pickle=False)
        return bool(states.shape == (len(features.tokens), encoder.hidden_size) and states.dtype == KIND)
    return False


def _compute(encoder: Encoder, features: Features, files: dict[int, Path], job: Job) -> None:
    """Run the encoder over all features and write the states of each layer to its file."""
    shape, recipe = (len(features.tokens), encoder.hidden_size), job.fit.recipe
    arrays = {
        layer: np.lib.format.open_memmap(file, mode="w+", dtype=KIND, shape=shape) for layer, file in files.items()
    }
    device, done = torch.device(job.device), 0
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=recipe.precision == "bf16"):
        for units in micro_batches(np.arange(features.units), features.unit_tokens, recipe.micro_tokens):
            batch = collate(features, units, device, multiple=rounding(recipe.precision))
            positions = batch.feature_positions[: batch.real].cpu().numpy()
            for layer, hidden in enumerate(encoder.hidden_states(batch)):
                if layer in arrays:
                    states = hidden[: batch.real].to(torch.float16).cpu().numpy()
                    if not np.isfinite(states).all():
                        raise FitError(
                            f"The states of layer {layer} are too large for half precision, so that the method "
                            "'features' cannot use this backbone. Use the method 'finetune'."
                        )
                    arrays[layer][positions] = states
            done += len(units)
            job.report(Event("predicting", done, features.units))
    for array in arrays.values():
        array.flush()
