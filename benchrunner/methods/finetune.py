"""All weights trained, with a head on top: what Devlin et al. 2019 do for every task."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from benchrunner.files import write_folder_atomically
from benchrunner.methods.method import Job, Method, Outcome
from benchrunner.progress import Event

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.methods.heads import Head, Kind


@final
@dataclass(frozen=True)
class Finetune(Method):
    """Encoder and head learn together."""

    name: str = "finetune"
    about: str = "train all weights with a linear layer on top"
    head: Kind = "linear"
    exports: bool = True

    def fit(self, job: Job) -> Outcome:
        import torch

        from benchrunner.methods import saved_model
        from benchrunner.training import numerics
        from benchrunner.training.embedding_rows import WHOLE_TABLE, narrowed

        assert job.train is not None and job.backbone is not None
        recipe, device = job.fit.recipe, torch.device(job.device)
        encoder = job.backbone.load(job.workspace, seed=job.fit.seed)
        if recipe.dropout is not None:
            encoder.set_dropout(recipe.dropout)
        head = self._head(encoder, job)
        notes = list(encoder.notes)
        if job.head is not None:
            saved_model.load({"head": head}, job.head)
            notes.append(saved_model.HANDED_ON)
        job.report(Event("encoding"))
        started = time.monotonic()
        features = saved_model.encode(job, job.train.table, encoder, training=True)
        encoded = time.monotonic()
        words = narrowed(encoder, features)
        if words is None and encoder.word_embedding is not None:
            notes.append(WHOLE_TABLE)
        encoder.to(device)
        head.to(device)
        modules = {"encoder": encoder, "head": head}
        training = saved_model.training(job, lambda batch: head(encoder, batch), modules, features)
        training.run()
        timings = {"encode_seconds": encoded - started, **training.timings(time.monotonic() - encoded)}
        if training.diverged is not None:
            return Outcome("diverged", training.divergence_reason, timings, numerics.of(training), tuple(notes))
        if words is not None:
            words.restore(training.schedule.untouched())
        write_folder_atomically(
            job.model, lambda folder: saved_model.save(folder, encoder.cpu(), {"head": head.cpu()}, job)
        )
        return Outcome("done", "", timings, numerics.of(training), tuple(notes))

    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        import torch

        from benchrunner.methods import saved_model
        from benchrunner.training.inference import predict

        device = torch.device(job.device)
        encoder, head = self.load(job)
        encoder.to(device).eval()
        head.to(device).eval()
        features = saved_model.encode(job, table, encoder, training=False)
        outputs = predict(
            lambda batch: head(encoder, batch),
            features,
            device,
            level=head.level,
            precision=job.fit.recipe.precision,
            micro_tokens=job.fit.recipe.micro_tokens,
            report=lambda done, total: job.report(Event("predicting", done, total)),
        )
        return job.problem.gather(outputs, features, table)

    def load(self, job: Job) -> tuple[Encoder, Head]:
        """What a finished fit left: `job.backbone` reads `job.model`."""
        from benchrunner.methods import saved_model

        assert job.backbone is not None
        encoder = job.backbone.load(job.workspace, seed=job.fit.seed)
        head = self._head(encoder, job)
        saved_model.load({"head": head}, job.model)
        return encoder, head

    def _head(self, encoder: Encoder, job: Job) -> Head:
        from benchrunner.methods.heads import HEADS

        return HEADS[self.head](encoder.hidden_size, job.problem.head, seed=job.fit.seed)
