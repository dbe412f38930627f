"""The states of a frozen encoder, or summaries of its sequences: computed once for a data set, cached by layer."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np
import torch

from benchrunner import DamagedFile, Diverged, FitError
from benchrunner.engine import Features, FlatBatch, blocks, collate, first_line, heads, held, seals, steps
from benchrunner.results import Event

if TYPE_CHECKING:
    from benchrunner.engine import Encoder, Job


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

    kind = np.float16
    suffix = ""

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
        return blocks.ranges(features.groups[units], np.diff(features.groups)[units])

    def vectors(self, encoder: Encoder, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return heads.summarize(self.choice, encoder, hidden, batch).index_select(0, batch.restore)


def chosen_layers(choice: str, layers: int) -> list[int]:
    """Give the layers that a recipe's `features` names: 0 is the embeddings, `layers` the last layer.

    The last four layers of an encoder that has fewer are all its layers.
    """
    numbers = list(range(layers + 1))
    above = numbers[1:] or numbers  # an encoder without layers has its embeddings alone
    layers_of = {
        "embeddings": numbers[:1],
        "second-to-last": numbers[-2:][:1],
        "last": numbers[-1:],
        "weighted-sum-last-4": above[-4:],
        "concat-last-4": above[-4:],
        "weighted-sum-all": above,
        "weighted-sum-with-embeddings": numbers,
    }
    return layers_of[choice]


def depth(encoder: Encoder, features: Features, device: torch.device) -> int:
    """Count the encoder's layers above the embeddings."""
    batch = collate(features, np.arange(1), device)
    with torch.inference_mode():
        return sum(1 for _ in encoder.hidden_states(batch)) - 1


def vectors(
    content: Content, encoder: Encoder, features: Features, layers: Sequence[int], job: Job
) -> list[np.ndarray]:
    """Give the vectors of each layer, in the order of the features, computed or from the cache.

    (tokens, hidden) of `TokenStates`, (sequences, hidden) of `Summaries`.
    """
    names = [f"layer-{layer:02}{content.suffix}" for layer in layers]

    def write(folder: Path, missing: Sequence[str]) -> None:
        files = dict[int, Path]()
        for layer, name in zip(layers, names, strict=True):
            if name in missing:
                files[layer] = folder / f"{name}.npy"
        _compute(content, encoder, features, files, job)

    return arrays_in(job.cache.folder / "states" / _key(encoder, features, job), names, write, job.report)


def arrays_in(
    folder: Path,
    names: Sequence[str],
    write: Callable[[Path, Sequence[str]], None],
    report: Callable[[Event], None],
) -> list[np.ndarray]:
    """Open arrays memory-mapped that belong together, such as the layers of an encoder for one data set.

    The folder's name holds a hash of everything that the arrays depend on. `write` is called with the names of arrays
    that are missing or damaged, and writes each of them as `NAME.npy` to the folder. `report` shows what the user
    should know. A process waits for another one that writes here.
    """
    arrays = _opened(folder, names)
    if len(arrays) < len(names):
        waiting = Event("waiting", text="another process computes the same arrays")
        with held(folder, lambda: report(waiting)):
            arrays = _opened(folder, names, report)
            missing = [name for name in names if name not in arrays]
            for name in missing:  # other processes may still read a file that was damaged meanwhile
                (folder / f"{name}.npy").unlink(missing_ok=True)
            if missing:
                write(folder, missing)
            for name in missing:
                seals.seal_files(folder / f"{name}.json", _title(folder, name), [folder / f"{name}.npy"])
            arrays |= _opened(folder, missing)
    return [arrays[name] for name in names]


def _opened(
    folder: Path,
    names: Sequence[str],
    report: Callable[[Event], None] = lambda event: None,
) -> dict[str, np.ndarray]:
    """Open the arrays that are as they were written; report those that are not. An array without a seal is half one."""
    arrays = {}
    for name in names:
        seal = folder / f"{name}.json"
        if seal.exists():
            try:
                seals.check_seal(seal, _title(folder, name), "")
                arrays[name] = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            except (DamagedFile, OSError, ValueError) as error:
                text = f"cached arrays are damaged and computed again ({first_line(error)})"
                report(Event("note", text=text))
    return arrays


def _title(folder: Path, name: str) -> str:
    """Return what the seal of an array says that it is, so that exchanged files are noticed."""
    return f"{folder.name}/{name}.npy"


def _key(encoder: Encoder, features: Features, job: Job) -> str:
    """Hash what the states depend on: weights, sequences, numerics and versions of the code and of libraries."""
    code = sorted(job.code.items())
    numerics = sorted(steps.numerics_of_frozen(job, encoder).items())
    digest = hashlib.sha256(repr((job.fit.revision, code, numerics)).encode())
    for part in (features.tokens, features.segments, features.starts):
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()[:16]


def _compute(content: Content, encoder: Encoder, features: Features, files: Mapping[int, Path], job: Job) -> None:
    """Run the encoder over all features and write the vectors of each layer to its file."""
    shape = (content.count(features), encoder.hidden_size)
    arrays = {}
    for layer, file in files.items():
        arrays[layer] = np.lib.format.open_memmap(file, mode="w+", dtype=content.kind, shape=shape)
    fill(arrays, content, encoder, features, steps.inference(job))
    for array in arrays.values():
        array.flush()


def fill(
    arrays: Mapping[int, np.ndarray],
    content: Content,
    encoder: Encoder,
    features: Features,
    inference: steps.Inference,
) -> None:
    """Run the encoder over all features and write the vectors of each layer to its array, in the type of the array."""

    def visit(batch: FlatBatch, units: np.ndarray) -> None:
        places = content.places(features, batch, units)
        for layer, hidden in enumerate(islice(encoder.hidden_states(batch), max(arrays) + 1)):
            if layer in arrays:
                exact = content.vectors(encoder, hidden, batch).float().cpu().numpy()
                arrays[layer][places] = _checked(exact, layer, arrays[layer].dtype)

    inference.visit_batches(visit, features)


def _checked(exact: np.ndarray, layer: int, kind: np.dtype) -> np.ndarray:
    """Give the vectors of a layer in another type; raise an error for those that are not finite numbers."""
    if not np.isfinite(exact).all():
        raise Diverged(f"the backbone's states of layer {layer} are not finite numbers")
    vectors = exact.astype(kind)
    if not np.isfinite(vectors).all():
        raise FitError(
            f"States of layer {layer} are too large for the type {kind}, in which they are kept. Use the method "
            "'finetune'."
        )
    return vectors
