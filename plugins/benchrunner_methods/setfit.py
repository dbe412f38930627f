"""The method `setfit`: an encoder that learns from few rows by comparing them, under a logistic regression."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, final

from benchrunner import Regress, RequestError
from benchrunner.engine import Job, Method, Outcome, Parameter, Problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


@final
class SetFit(Method):
    """Trains the vectors of rows of one label to be near each other, and those of other labels not (Tunstall 2022).

    Then the logistic regression of `probe` learns from the vectors. The defaults are those of the released code.
    """

    name = "setfit"
    about = "few rows: train all weights on pairs of rows, then a logistic regression on their vectors"
    recipe_fields = ("summary",)
    recipe_defaults = {"lr": 2e-5, "epochs": 1, "batch_size": 16}
    parameters = (
        Parameter(
            "pairs",
            "pairs of each training row with rows of its label, and as many with rows of others; an epoch is all "
            "pairs, and batch-size counts pairs",
            20,
            at_least=1,
        ),
    )

    def check(self, problem: Problem) -> None:
        kind = problem.export_kind
        if kind is None or kind.name != "single_label_classification" or not problem.head.reads_summary:
            raise RequestError(
                "The method 'setfit' compares rows by their labels, and is for tasks with one label for a text or a "
                f"pair of texts, not for the kind '{problem.name}'. Choose --method finetune."
            )

    def fit(self, job: Job) -> Outcome:
        from benchrunner.engine import narrowed, steps
        from benchrunner_methods.contrast import paired, similarities
        from benchrunner_methods.probing.samples import SUMMARIES, Vectors
        from benchrunner_methods.probing.strength import fitted_head
        from benchrunner_methods.text_vectors import all_vectors, summary_of

        assert job.train is not None
        encoder = steps.load_encoder(job, seed=job.fit.seed)
        started = time.monotonic()
        rows = steps.encode(job, job.train.table, encoder, training=True)
        pairs = paired(rows, job.parameters["pairs"], seed=job.fit.seed)
        encode_seconds = time.monotonic() - started
        tables = narrowed(encoder, rows)
        encoder.to(job.computing.device)
        # The loss of a pair is the squared error of its cosine, as of a task that asks for a number from 0 to 1.
        of_pairs = replace(job, problem=Regress(0.0, 1.0))
        training = steps.train(of_pairs, partial(similarities, encoder, job), {"encoder": encoder}, pairs)
        notes = list(encoder.notes)
        if training.diverged is None:
            for words in tables:
                words.restore(training.decay_without_gradient(words.weight))
            vectors = all_vectors(encoder, job, rows)
            head = fitted_head(Vectors(vectors, rows, len(rows.tokens), SUMMARIES[summary_of(job)]), job)
            steps.save(job, encoder, {"head": head.layer.as_module()})
            notes.append(f"learns from {pairs.units:,} pairs of rows; reads {head.note}")
        made = steps.outcome(training, encode_seconds, notes)
        of_head = steps.numerics_of_frozen(job, encoder, libraries=("scikit-learn", "scipy"))
        return replace(made, numerics={**made.numerics, "versions": of_head["versions"]})

    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        from benchrunner.engine import steps
        from benchrunner_methods.probing.linear import head_outputs
        from benchrunner_methods.text_vectors import all_vectors

        encoder = steps.load_fitted_encoder(job)
        features = steps.encode(job, table, encoder, training=False)
        outputs = head_outputs(job, all_vectors(encoder, job, features))
        return job.problem.gather(outputs, features, table)
