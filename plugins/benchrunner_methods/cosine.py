"""The method `cosine`: how near the vectors of two texts are; nothing is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from benchrunner import FitError, Regress, RequestError
from benchrunner.engine import Job, Method, Outcome, Problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


@final
class Cosine(Method):
    """Answers with the cosine of the two texts of a row, from -1 to 1, on the scale of the task's numbers."""

    name = "cosine"
    about = "no training: how near the vectors of two texts are, such as for STS-B"
    trains_encoder = False
    trains_in_steps = False
    is_random = False
    recipe_fields = ("summary",)

    def check(self, problem: Problem) -> None:
        if not isinstance(problem, Regress):
            raise RequestError(
                "The method 'cosine' gives two texts a number, for tasks of the kind 'regress', not for the kind "
                f"'{problem.name}'. Choose --method probe or finetune."
            )

    def fit(self, job: Job) -> Outcome:
        from benchrunner.engine import steps
        from benchrunner_methods.probing.samples import SUMMARIES
        from benchrunner_methods.text_vectors import summary_of

        assert job.train is not None
        if "b" not in job.train.table.column_names:
            raise FitError("The rows have one text, and the method 'cosine' compares two. Choose --method probe.")
        encoder = steps.load_encoder(job, seed=0)
        steps.save(job, encoder, {})
        return Outcome(
            numerics=steps.numerics_of_frozen(job, encoder),
            notes=(*encoder.notes, f"reads the {SUMMARIES[summary_of(job)]} of each text"),
        )

    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        from benchrunner.engine import steps
        from benchrunner_methods.text_vectors import all_vectors, texts_apart, unit_vectors

        problem = job.problem
        assert isinstance(problem, Regress)
        encoder = steps.load_fitted_encoder(job)
        vectors = []
        for text in texts_apart(table):
            features = steps.encode(job, text, encoder, training=False)
            vectors.append(unit_vectors(all_vectors(encoder, job, features)))
        cosines = (vectors[0] * vectors[1]).sum(axis=1, keepdims=True)
        outputs: np.ndarray = problem.low + (problem.high - problem.low) * (cosines + 1) / 2
        return outputs
