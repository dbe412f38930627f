"""The states of a frozen encoder: computed once for a data set and kept memory-mapped, a file for each layer."""

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
from benchrunner.files import held
from benchrunner.progress import Event

if TYPE_CHECKING:
    from benchrunner.backbones.encoder import Encoder
    from benchrunner.methods.method import Job

KIND = np.float16
"""What is kept of a state: it rounds by one part in two thousand, and halves what can be many gigabytes."""


def depth(encoder: Encoder, features: Features, device: torch.device) -> int:
    """Layers above the embeddings."""
    batch = collate(features, np.arange(1), device)
    with torch.inference_mode():
        return sum(1 for _ in encoder.hidden_states(batch)) - 1


def states(encoder: Encoder, features: Features, layers: Sequence[int], job: Job) -> list[np.ndarray]:
    """(tokens, hidden) for each layer, in the features' order; read from the cache where an earlier fit left them."""
    folder = job.cache.folder / "states" / _key(features, job)
    files = {layer: folder / f"layer-{layer:02}.npy" for layer in layers}
    if _missing(files, features, encoder):
        waiting = Event("waiting", text="another process computes the same states")
        with held(folder, lambda: job.report(waiting)):
            _fill(folder, files, encoder, features, job)
    return [np.load(file, mmap_mode="r", allow_pickle=False) for file in files.values()]


def _fill(folder: Path, files: Mapping[int, Path], encoder: Encoder, features: Features, job: Job) -> None:
    """Compute what is missing; only for the holder of the folder, who removes what a killed one left there."""
    for left in folder.glob("*.part"):
        shutil.rmtree(left, ignore_errors=True)
    if missing := _missing(files, features, encoder):
        part = Path(tempfile.mkdtemp(dir=folder, suffix=".part"))
        try:
            _compute(encoder, features, {layer: part / files[layer].name for layer in missing}, job)
            for layer in missing:
                (part / files[layer].name).replace(files[layer])
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _key(features: Features, job: Job) -> str:
    """What decides the states to the last bit: weights, sequences, how they are computed, and the code's versions."""
    asked = (job.fit.revision, job.fit.recipe.precision, sorted(job.code.items()))
    numerics = (torch.device(job.device).type, torch.get_num_threads(), job.fit.recipe.micro_tokens, torch.__version__)
    digest = hashlib.sha256(repr((asked, numerics)).encode())
    for part in (features.tokens, features.segments, features.starts):
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()[:16]


def _missing(files: Mapping[int, Path], features: Features, encoder: Encoder) -> list[int]:
    return [layer for layer, file in files.items() if not _whole(file, features, encoder)]


def _whole(file: Path, features: Features, encoder: Encoder) -> bool:
    with contextlib.suppress(OSError, ValueError, EOFError):
        found = np.load(file, mmap_mode="r", allow_pickle=False)
        return bool(found.shape == (len(features.tokens), encoder.hidden_size) and found.dtype == KIND)
    return False


def _compute(encoder: Encoder, features: Features, files: dict[int, Path], job: Job) -> None:
    shape, recipe = (len(features.tokens), encoder.hidden_size), job.fit.recipe
    arrays = {
        layer: np.lib.format.open_memmap(file, mode="w+", dtype=KIND, shape=shape) for layer, file in files.items()
    }
    device, done = torch.device(job.device), 0
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=recipe.precision == "bf16"):
        for units in micro_batches(np.arange(features.units), features.unit_tokens, recipe.micro_tokens):
            batch = collate(features, units, device, multiple=rounding(recipe.precision))
            places = batch.feature_positions[: batch.real].cpu().numpy()
            for layer, hidden in enumerate(encoder.hidden_states(batch)):
                if layer in arrays:
                    found = hidden[: batch.real].to(torch.float16).cpu().numpy()
                    if not np.isfinite(found).all():
                        raise FitError(f"Layer {layer} has states that half precision cannot hold; fine-tune instead.")
                    arrays[layer][places] = found
            done += len(units)
            job.report(Event("predicting", done, features.units))
    for array in arrays.values():
        array.flush()
