"""The method that trains a BiLSTM on the states of a frozen encoder (Devlin et al. 2019, 5.3)."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, final

from benchrunner.engine import Job, Method, Outcome

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


@final
class FrozenFeatures(Method):
    """Runs the encoder once over each data set, and trains a reader and, where asked, the weights of the layers."""

    name = "features"
    about = "frozen encoder, its layers into a two-layer BiLSTM (--set features=NAME says which)"
    trains_encoder = False
    recipe_fields = ("features", "bilstm_width")
    recipe_defaults = {"lr": 1e-3, "epochs": 10}
    """The paper gives no learning rate for this approach. 1e-3 is Adam's default; no trained weight is pre-trained."""

    def fit(self, job: Job) -> Outcome:
        from benchrunner.engine import steps
        from benchrunner_methods.frozen_readers import Reader

        assert job.train is not None
        encoder = steps.load_encoder(job, seed=0)  # the encoder is frozen: seeds change only the layers on top
        started = time.monotonic()
        reader = Reader(encoder, job, job.train.table)
        encode_seconds = time.monotonic() - started
        notes = [*encoder.notes, *steps.take_over_head(job, reader.learned)]
        training = steps.train(job, reader, reader.learned, reader.sequences)
        if training.diverged is None:
            steps.save(job, encoder, reader.learned)
        made = steps.outcome(training, encode_seconds, notes)
        of_states = steps.numerics_of_frozen(job, encoder)  # the reader has no attention of its own
        return replace(made, numerics={**made.numerics, "attention": of_states["attention"]})

    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        from benchrunner.engine import steps
        from benchrunner_methods.frozen_readers import Reader

        reader = Reader(steps.load_fitted_encoder(job), job, table)
        steps.load_learned(job.model, reader.learned)
        for module in reader.learned.values():
            module.eval()
        outputs = steps.predict(job, reader, reader.sequences, job.problem.head.level)
        return job.problem.gather(outputs, reader.sequences, table)
