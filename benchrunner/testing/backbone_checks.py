"""Check that a backbone keeps its contract: revision, shapes, independent sequences, saving and training."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np
import torch

from benchrunner.backbones.backbone import Backbone, BackboneFamily
from benchrunner.backbones.encoder import Encoder
from benchrunner.data.rows import Rows
from benchrunner.errors import RequestError
from benchrunner.features.flat_batch import collate
from benchrunner.fits import Fit
from benchrunner.methods.finetune import Finetune
from benchrunner.methods.frozen_features import FrozenFeatures
from benchrunner.methods.method import Job, Method
from benchrunner.recipes import Recipe
from benchrunner.testing.contract import refuse
from benchrunner.testing.moods import MOOD, sentences
from benchrunner.training.embedding_rows import WHOLE_TABLE
from benchrunner.training.feature_cache import Cache
from benchrunner.workspace import Workspace

if TYPE_CHECKING:
    from benchrunner.features.arrays import Features


def check_backbone(backbone: Backbone, family: BackboneFamily, workspace: Workspace, folder: Path) -> None:
    """Check that a backbone keeps its contract; raise a `PluginError` that lists every fault.

    Two calls must give the same revision, and two loads with one seed the same weights. Summaries must have the right
    shape, and a sequence's summary must not depend on the other sequences of its batch. An encoder that is saved (to
    `folder`) and read again must compute the same summaries, both as it was loaded and after a fit of a few steps. If
    the encoder says what its layers are, initialising a layer must change the weights of this layer alone.
    """
    faults: list[str] = []
    if backbone.revision(workspace) != backbone.revision(workspace):
        faults.append("revision differs from call to call")
    encoder, reloaded = (backbone.load(workspace, seed=0).eval() for _ in range(2))
    texts = sentences(4)["a"]
    with torch.inference_mode():
        summaries = _summaries(encoder, texts)
        faults += _shape_faults(encoder, texts, summaries)
        if not torch.equal(summaries, _summaries(reloaded, texts)):
            faults.append("two loads with one seed are two models")
        folder.mkdir(parents=True, exist_ok=True)
        encoder.save(folder)
        saved = family.find(str(folder), workspace)
        if saved is None:
            faults.append("the family does not find the folder that its own encoder saved")
        elif not torch.equal(summaries, _summaries(saved.load(workspace, seed=1).eval(), texts)):
            faults.append("saved and read again, the encoder is another model")
    faults += _training_faults(backbone, family, workspace)
    faults += _layer_faults(reloaded)
    refuse(backbone.name, faults)


def _shape_faults(encoder: Encoder, texts: Sequence[str], summaries: torch.Tensor) -> Iterator[str]:
    """Yield a fault if summaries have a wrong shape or depend on the batch, or if `max_length` is exceeded."""
    shape, expected = tuple(summaries.shape), (len(texts), encoder.hidden_size)
    if shape != expected:
        yield f"summary gives {shape} for {len(texts)} sequences, not {expected}"
    else:
        alone = torch.cat([_summaries(encoder, [text]) for text in texts])
        if not torch.allclose(summaries, alone, atol=1e-5):
            yield "a sequence's summary depends on the other sequences in its batch"
    if encoder.assemble(texts, None, 3).starts.tolist()[-1] > 3 * len(texts):
        yield "assemble keeps more tokens than max_length"


def _layer_faults(encoder: Encoder) -> Iterator[str]:
    """Yield a fault if depths are missing, or if initialising the highest layer or the summary changes other weights.

    An encoder that does not say what its layers are, or does not initialise them, is not checked.
    """
    with contextlib.suppress(RequestError):
        depths, count = encoder.depths(), len(encoder.layers)
        if depths.keys() != dict(encoder.named_parameters()).keys():
            yield "depths does not give the names of named_parameters"
            return
        source, before = torch.Generator().manual_seed(0), _weights(encoder)
        encoder.draw_layer(count - 1, source)
        yield from _drawing_faults("draw_layer", encoder, before, depths, count)
        before = _weights(encoder)
        encoder.draw_summary(source)
        yield from _drawing_faults("draw_summary", encoder, before, depths, count + 1)


def _drawing_faults(
    method: str, encoder: Encoder, before: Mapping[str, torch.Tensor], depths: Mapping[str, int], depth: int
) -> Iterator[str]:
    """Yield a fault if other weights than those of a depth changed, or none of them."""
    changed = [name for name, weight in encoder.named_parameters() if not torch.equal(weight, before[name])]
    if outside := [name for name in changed if depths[name] != depth]:
        yield f"{method} changes a weight of another depth, {outside[0]}"
    elif not changed and depth in depths.values():
        yield f"{method} changes no weight"


def _weights(encoder: Encoder) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in encoder.named_parameters()}


def _training_faults(backbone: Backbone, family: BackboneFamily, workspace: Workspace) -> Iterator[str]:
    """Yield a fault if an encoder that was fitted, saved and read again predicts other outputs than the one in memory.

    The fit takes a few steps. It trains all weights, or only the layers on top if the backbone is frozen.
    """
    import pyarrow as pa

    with tempfile.TemporaryDirectory() as name:
        home, table = Path(name), pa.table(sentences(16))
        recipe = Recipe(lr=1e-3, epochs=2, batch_size=8, features="last")
        method: Method = FrozenFeatures() if backbone.frozen else Finetune()
        job = Job(
            fit=Fit("check", backbone.name, method.name, recipe, 0, "", MOOD.identity(), "", {}),
            problem=MOOD,
            workspace=workspace,
            cache=Cache(home / "cache"),
            device="cpu",
            model=home / "model",
            checkpoint=home / "checkpoint",
            log=home / "log.jsonl",
            report=lambda event: None,
            train=Rows(table, "sentences"),
            backbone=_Loaded(backbone.load(workspace, seed=0)),
        )
        outcome = method.fit(job)
        if outcome.status != "done":
            yield f"a fit with '{method.name}' on {len(table)} sentences ends early: {outcome.reason}"
            return
        if WHOLE_TABLE in outcome.notes:
            yield "a table of word_embeddings is used for more than looking up batch.tokens; leave the table out"
        saved = family.find(str(job.model), workspace)
        if saved is None:
            yield "the family does not find the folder that a fit with its encoder left"
            return
        jobs = (
            replace(job, backbone=model, cache=Cache(home / folder))  # in one cache, both would read the same states
            for model, folder in ((job.backbone, "trained"), (saved, "read"))
        )
        trained, read = (method.predict(later, table) for later in jobs)
        if not np.array_equal(trained, read):
            yield "fitted, saved and read again, the encoder is another model"


@final
@dataclass(frozen=True)
class _Loaded(Backbone):
    """A backbone whose encoder is loaded already, so that the check keeps the encoder that a fit trains."""

    encoder: Encoder
    name: str = "loaded"
    about: str = "an encoder in memory"

    def revision(self, workspace: Workspace) -> str:
        return ""

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        return self.encoder


def _summaries(encoder: Encoder, texts: Sequence[str]) -> torch.Tensor:
    """Compute the summary of each text, in the order of the texts: (texts, hidden)."""
    import pyarrow as pa

    features: Features = MOOD.encode(pa.table({"a": list(texts)}), encoder, Recipe(), training=False)
    batch = collate(features, np.arange(len(texts)), torch.device("cpu"))
    return encoder.summary(encoder(batch), batch)[batch.restore]
