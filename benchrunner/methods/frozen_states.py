"""The states of a frozen encoder, or summaries of its sequences: computed once for a data set, cached by layer."""

from __future__ import annotations

import hashlib
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np
import torch

from benchrunner.errors import DamagedFile, Diverged, FitError, first_line
from benchrunner.features.arrays import Features
from benchrunner.features.blocks import ranges
from benchrunner.features.flat_batch import FlatBatch, collate, rounding
from benchrunner.fits.progress import Event
from benchrunner.io.files import remove
from benchrunner.io.leftovers import remove_leftovers, temporary_folder
from benchrunner.io.locks import held
from benchrunner.io.seals import check_seal, seal_files
from benchrunner.methods.summaries import summarize
from benchrunner.training.memory import computed_in_parts

if TYPE_CHECKING:
    from benchrunner.backbones.encoder import Encoder
    from benchrunner.methods.method import Job


class Content(ABC):
    """What the cache keeps of each layer."""

    kind: type[np.floating]
    """Type of the numbers."""
    suffix: str
    """Ending of the names of the files, without the extension."""

    @abstractmethod
    def count(self, features: Features) -> int:
        """Return the number of vectors of each layer."""

    @abstractmethod
    def places(self, features: Features, batch: FlatBatch, units: np.ndarray) -> np.ndarray:
        """Return the index in the file of each vector of a batch of units."""

    @abstractmethod
    def vectors(self, encoder: Encoder, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        """Compute the vectors of a batch from the states of a layer."""


@final
class TokenStates(Content):
    """The state of each token. Half precision rounds by 1 / 2048 and halves files that can be many gigabytes."""

    kind, suffix = np.float16, ""

    def count(self, features: Features) -> int:
        return len(features.tokens)

    def places(self, features: Features, batch: FlatBatch, units: np.ndarray) -> np.ndarray:
        return batch.feature_positions[: batch.real]

    def vectors(self, encoder: Encoder, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return hidden[: batch.real]


@final
@dataclass(frozen=True)
class Summaries(Content):
    """The summary of each sequence that a recipe's `summary` names, of the states of a layer."""

    choice: str
    kind = np.float32

    @property
    def suffix(self) -> str:  # type: ignore[override]
        return f"-{self.choice}"

    def count(self, features: Features) -> int:
        return len(features.owner)

    def places(self, features: Features, batch: FlatBatch, units: np.ndarray) -> np.ndarray:
        return ranges(features.groups[units], np.diff(features.groups)[units])

    def vectors(self, encoder: Encoder, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return summarize(self.choice, encoder, hidden, batch).index_select(0, batch.restore)


def depth(encoder: Encoder, features: Features, device: torch.device) -> int:
    """Count the encoder's layers above the embeddings."""
    batch = collate(features, np.arange(1), device)
    with torch.inference_mode():
        return sum(1 for _ in encoder.hidden_states(batch)) - 1


def states(encoder: Encoder, features: Features, layers: Sequence[int], job: Job) -> list[np.ndarray]:
    """Give the states of each layer, (tokens, hidden) in the order of the features, computed or from the cache."""
    return _vectors(TokenStates(), encoder, features, layers, job)


def summaries(encoder: Encoder, features: Features, layers: Sequence[int], job: Job, choice: str) -> list[np.ndarray]:
    """Give a summary of each sequence for each layer, (sequences, hidden), computed or from the cache."""
    return _vectors(Summaries(choice), encoder, features, layers, job)


def _vectors(
    content: Content, encoder: Encoder, features: Features, layers: Sequence[int], job: Job
) -> list[np.ndarray]:
    folder = job.cache.folder / "states" / _key(features, job)
    files = {layer: folder / f"layer-{layer:02}{content.suffix}.npy" for layer in layers}
    states = _opened(files)
    remove_leftovers(folder)
    if len(states) < len(files):
        if folder.exists() and not folder.is_dir():
            remove(folder)
        waiting = Event("waiting", text="another process computes the same states")
        with held(folder, lambda: job.report(waiting)):
            states |= _fill(
                folder, content, {layer: files[layer] for layer in files if layer not in states}, encoder, features, job
            )
    return [states[layer] for layer in layers]


def _fill(
    folder: Path, content: Content, files: Mapping[int, Path], encoder: Encoder, features: Features, job: Job
) -> dict[int, np.ndarray]:
    """Compute the states of the layers whose files are missing or damaged, write the files, and open all of them.

    The caller holds the folder's lock.
    """
    states = _opened(files, damaged=lambda reason: job.report(Event("note", text=reason)))
    if missing := [layer for layer in files if layer not in states]:
        part = temporary_folder(folder / "layers")
        try:
            _compute(content, encoder, features, {layer: part / files[layer].name for layer in missing}, job)
            for layer in missing:
                seal_files(_seal(part / files[layer].name), _name(files[layer]), [part / files[layer].name])
                for path in (files[layer], _seal(files[layer])):
                    if path.is_dir():
                        remove(path)
                    (part / path.name).replace(path)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        states |= _opened({layer: files[layer] for layer in missing})
    return states


def _opened(files: Mapping[int, Path], damaged: Callable[[str], None] = lambda reason: None) -> dict[int, np.ndarray]:
    """Open the layers that are cached and as they were written; call `damaged` for a layer that is not.

    The seal of a layer names the layer and the key of its folder, so that exchanged files are noticed.
    """
    states = {}
    for layer, file in files.items():
        if file.exists() or _seal(file).exists():
            try:
                check_seal(_seal(file), _name(file), "")
                states[layer] = np.load(file, mmap_mode="r", allow_pickle=False)
            except (DamagedFile, OSError, ValueError) as error:
                damaged(f"cached states are damaged and computed again ({first_line(error)})")
    return states


def _name(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


def _seal(file: Path) -> Path:
    return file.with_suffix(".json")


def _key(features: Features, job: Job) -> str:
    """Hash what the states on one machine depend on: weights, sequences, numerics and versions of the code."""
    request = (job.fit.revision, job.fit.recipe.precision, sorted(job.code.items()))
    numerics = (
        torch.device(job.computing.device).type,
        torch.get_num_threads(),
        job.fit.recipe.micro_tokens,
        torch.__version__,
    )
    digest = hashlib.sha256(repr((request, numerics)).encode())
    for part in (features.tokens, features.segments, features.starts):
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()[:16]


def _compute(content: Content, encoder: Encoder, features: Features, files: dict[int, Path], job: Job) -> None:
    """Run the encoder over all features and write the vectors of each layer to its file."""
    shape, recipe = (content.count(features), encoder.hidden_size), job.fit.recipe
    arrays = {
        layer: np.lib.format.open_memmap(file, mode="w+", dtype=content.kind, shape=shape)
        for layer, file in files.items()
    }
    device, done = torch.device(job.computing.device), 0

    def compute(units: np.ndarray) -> None:
        multiple = rounding(recipe.precision, features.tokens_in(units))
        batch = collate(features, units, device, multiple=multiple)
        places = content.places(features, batch, units)
        for layer, hidden in enumerate(encoder.hidden_states(batch)):
            if layer in arrays:
                exact = content.vectors(encoder, hidden, batch).float().cpu().numpy()
                arrays[layer][places] = _checked(exact, layer, content, job)

    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=recipe.precision == "bf16"):
        for units, _ in computed_in_parts(compute, features.unit_tokens, recipe.micro_tokens, device):
            done += len(units)
            job.report(Event("predicting", done, features.units))
    for array in arrays.values():
        array.flush()


def _checked(exact: np.ndarray, layer: int, content: Content, job: Job) -> np.ndarray:
    """Give the vectors of a layer in the type of their file; raise an error for those that are not finite numbers."""
    if not np.isfinite(exact).all():
        raise Diverged(f"the backbone's states of layer {layer} are not finite numbers")
    vectors = exact.astype(content.kind)
    if not np.isfinite(vectors).all():
        raise FitError(
            f"States of layer {layer} are too large for the type {np.dtype(content.kind)}, so that the "
            f"method '{job.fit.method}' cannot use this backbone. Use the method 'finetune'."
        )
    return vectors
