"""Fine-tuning: all weights are trained, with a head on top, as Devlin et al. 2019 do for every task."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from benchrunner.methods.method import Job, Method, Outcome

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.methods.heads import Head, Kind

ENCODER_FIELDS = ("layer_decay", "redraw_layers")
"""Recipe fields that say how the layers of the encoder are trained."""


@final
@dataclass(frozen=True)
class Finetune(Method):
    """Trains the encoder and a head together."""

    name: str = "finetune"
    about: str = "train all weights with a linear layer on top"
    head: Kind = "linear"
    exports: bool = True
    recipe_fields: tuple[str, ...] = ("summary", *ENCODER_FIELDS)
    training_fields: tuple[str, ...] = ENCODER_FIELDS

    def fit(self, job: Job) -> Outcome:
        from benchrunner.methods import encoder_layers, steps
        from benchrunner.training.embedding_rows import WHOLE_TABLE, narrowed

        assert job.train is not None
        encoder = steps.load_trained_encoder(job, seed=job.fit.seed)
        recipe = job.fit.recipe
        encoder_layers.redraw(encoder, recipe.redraw_layers, seed=job.fit.seed)
        head = self.make_head(encoder, job)
        notes = [*encoder.notes, *steps.take_over_head(job, {"head": head})]
        started = time.monotonic()
        features = steps.encode(job, job.train.table, encoder, training=True)
        encode_seconds = time.monotonic() - started
        rows_in_use = narrowed(encoder, features)
        if len(rows_in_use) < len(encoder.word_embeddings):
            notes.append(WHOLE_TABLE)
        modules = {"encoder": encoder.to(job.computing.device), "head": head.to(job.computing.device)}
        rates = {f"encoder.{name}": rate for name, rate in encoder_layers.learning_rates(encoder, recipe.layer_decay)}
        training = steps.train(
            job,
            lambda batch: head(encoder, batch),
            modules,
            features,
            rates=rates,
            fixed_shapes=True,
        )
        if training.diverged is None:
            for words in rows_in_use:
                words.restore(training.decay_without_gradient(words.weight))
            steps.save(job, encoder, {"head": head})
        return steps.outcome(training, encode_seconds, notes)

    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        from benchrunner.methods import saved_model, steps

        encoder = steps.load_fitted_encoder(job)
        head = self.make_head(encoder, job)
        saved_model.load({"head": head}, job.model)
        encoder.to(job.computing.device).eval()
        head.to(job.computing.device).eval()
        features = steps.encode(job, table, encoder, training=False)
        outputs = steps.predict(job, lambda batch: head(encoder, batch), features, head.level)
        return job.problem.gather(outputs, features, table)

    def make_head(self, encoder: Encoder, job: Job) -> Head:
        """Make the head of a job, with fresh weights, and prepare the encoder for this kind of head."""
        from benchrunner.methods.heads import BiLstmHead, LinearHead

        encoder.prepare_for(job.problem.export_kind)
        size, shape, seed = encoder.hidden_size, job.problem.head, job.fit.seed
        if self.head == "bilstm":
            return BiLstmHead(size, shape, seed=seed, width=job.fit.recipe.bilstm_width)
        bias, summary = encoder.summary_head_bias, job.fit.recipe.summary
        return LinearHead(size, shape, seed=seed, summary_bias=bias, summary=summary)
