"""LoRA: low-rank updates of the encoder's linear layers are trained, with a head on top (Hu et al. 2021)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from benchrunner.engine import Finetune, Job, Method, Outcome, Parameter

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


@final
@dataclass(frozen=True)
class Lora(Method):
    """Trains low-rank updates of a frozen encoder and a head. The saved encoder has the updates in its weights."""

    name: str = "lora"
    about: str = "train low-rank updates of the frozen encoder's linear layers, with a linear layer on top"
    exports: bool = True
    recipe_fields: tuple[str, ...] = ("summary", "head_layer")
    parameters: tuple[Parameter, ...] = (
        Parameter(
            "rank",
            "rank of the updates: the width between their two matrices",
            8,
            at_least=1,
            at_most=16_384,
            shapes_head=False,
        ),
        Parameter(
            "alpha", "scale of the updates: an update counts alpha / rank times", 16.0, above=0, shapes_head=False
        ),
    )
    recipe_defaults = {"lr": 5e-4}
    """This rate, rank 8 and alpha 16 are those of most of the authors' scripts for encoders of the base size
    (github.com/microsoft/LoRA, examples/NLU); some small tasks have 4e-4."""

    def fit(self, job: Job) -> Outcome:
        from benchrunner.engine import steps
        from benchrunner_methods.low_rank import LowRankUpdates

        assert job.train is not None
        seed = job.fit.seed
        encoder = steps.load_trained_encoder(job, seed=seed)
        head = Finetune().make_head(encoder, job)
        updates = LowRankUpdates(encoder, rank=job.parameters["rank"], alpha=job.parameters["alpha"], seed=seed)
        notes = [*encoder.notes, *steps.take_over_head(job, {"head": head})]
        started = time.monotonic()
        features = steps.encode(job, job.train.table, encoder, training=True)
        encode_seconds = time.monotonic() - started
        parts = {"encoder": encoder, "updates": updates, "head": head}
        modules = {name: module.to(job.computing.device) for name, module in parts.items()}
        training = steps.train(job, lambda batch: head(encoder, batch), modules, features, fixed_shapes=True)
        if training.diverged is None:
            updates.merge()
            steps.save(job, encoder, {"head": head})
        return steps.outcome(training, encode_seconds, notes)

    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        """Predict like a fine-tuned model, which the merged encoder and the head are."""
        return Finetune().predict(job, table)
