"""Methods that train layers on the states of a frozen encoder.

They are the feature-based approach of Devlin et al. 2019, 5.3, and the reader of Wang et al. 2018.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, final

from benchrunner import RequestError, SentenceProblem
from benchrunner.engine import Job, Method, Outcome, Problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from benchrunner.engine import Encoder
    from benchrunner_methods.frozen_readers import Reader


@final
@dataclass(frozen=True)
class FrozenFeatures(Method):
    """Runs the encoder once over each data set, and trains a reader and, where asked, the weights of the layers."""

    name: str = "features"
    about: str = "frozen encoder, its layers into a two-layer BiLSTM (--set features=NAME says which)"
    reader: Literal["bilstm", "attention"] = "bilstm"
    """The reader of the layers: one of `frozen_readers.READERS`."""
    trains_encoder = False
    recipe_fields = ("features", "bilstm_width")
    recipe_defaults = {"lr": 1e-3, "epochs": 10}
    """The papers give no learning rate for this approach. 1e-3 is Adam's default; no trained weight is pre-trained."""

    def check(self, problem: Problem) -> None:
        if self.reader == "attention" and not isinstance(problem, SentenceProblem):
            raise RequestError(
                f"The method '{self.name}' is for tasks that ask about one text or a pair of texts, not for the kind "
                f"'{problem.name}'. Choose --method features."
            )

    def fit(self, job: Job) -> Outcome:
        from benchrunner.engine import steps

        assert job.train is not None
        encoder = steps.load_encoder(job, seed=0)  # the encoder is frozen: seeds change only the layers on top
        started = time.monotonic()
        reader = self._reader(encoder, job, job.train.table)
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

        reader = self._reader(steps.load_fitted_encoder(job), job, table)
        steps.load_learned(job.model, reader.learned)
        for module in reader.learned.values():
            module.eval()
        outputs = steps.predict(job, reader, reader.sequences, job.problem.head.level)
        return job.problem.gather(outputs, reader.sequences, table)

    def _reader(self, encoder: Encoder, job: Job, table: pa.Table) -> Reader:
        from benchrunner_methods.frozen_readers import READERS

        return READERS[self.reader](encoder, job, table)
