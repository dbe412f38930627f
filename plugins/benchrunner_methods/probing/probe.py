"""Probing: a linear model of scikit-learn on vectors of a frozen encoder, as a baseline that takes seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, final

from benchrunner import Recipe, RequestError
from benchrunner.engine import Job, Method, Outcome, Parameter, Problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from benchrunner.engine import Encoder

UNTRAINED_POOLER = (
    "the encoder's own summary has weights that are drawn at random, because the checkpoint has none: --set "
    "summary=mean reads the states of the last layer themselves"
)
"""Note of a probe that reads a pooler without trained weights."""
SEED_NOTE = "; the seed draws only its folds, so restarts are nearly equal"


@final
class Probe(Method):
    """Runs the encoder once over each data set and fits a logistic or a ridge regression to its vectors."""

    name = "probe"
    about = "frozen encoder with a logistic or ridge regression on top; a baseline within seconds"
    exports = True
    trains_encoder = False
    trains_in_steps = False
    recipe_fields = ("features", "summary")
    recipe_defaults = {"features": "concat-last-4", "summary": "mean"}
    parameters = (
        Parameter(
            "pairs",
            "how two texts of a row are read: together as one sequence, or apart, each alone; then the linear model "
            "sees |u - v| and u * v, where u and v are the texts' vectors, scaled to length 1",
            "together",
            choices=("together", "apart"),
        ),
    )

    def check(self, problem: Problem) -> None:
        from benchrunner_methods.probing.samples import KINDS

        if problem.export_kind is None or problem.export_kind.name not in KINDS:
            raise RequestError(
                f"The method 'probe' has no linear model for problems of the kind '{problem.name}': it fits labels, "
                "numbers, choices and tags. Choose --method finetune."
            )

    def check_recipe(self, recipe: Recipe, problem: Problem) -> None:
        if problem.head.reads_summary and recipe.summary == "pooler" and recipe.features != "last":
            raise RequestError(
                f"The method 'probe' cannot read features={recipe.features} with summary=pooler: the encoder's own "
                "summary is made for the last layer. Choose --set features=last, or summary=first, last, mean or max."
            )

    def fit(self, job: Job) -> Outcome:
        from benchrunner.engine import steps
        from benchrunner_methods.probing import samples, strength

        assert job.train is not None
        encoder = steps.load_encoder(job, seed=0)  # the encoder is frozen: its weights do not depend on the seed
        started = time.monotonic()
        read = samples.read(encoder, job, job.train.table)
        encode_seconds = time.monotonic() - started
        started = time.monotonic()
        head = strength.fitted_head(read, job)
        seconds = time.monotonic() - started
        only_folds = SEED_NOTE if job.fit.recipe.limit_train is None else ""
        steps.save(job, encoder, {"head": head.layer.as_module()})
        return Outcome(
            timings={
                "encode_seconds": encode_seconds,
                "train_seconds": seconds,
                "examples_per_second": len(job.train) / seconds,
            },
            work={"train_tokens": read.tokens},
            numerics=steps.numerics_of_frozen(job, encoder, libraries=("scikit-learn", "scipy")),
            notes=(*encoder.notes, *_notes(encoder, job), f"reads {head.note}{only_folds}"),
        )

    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        from benchrunner.engine import steps
        from benchrunner_methods.probing import linear, samples

        read = samples.read(steps.load_fitted_encoder(job), job, table)
        return job.problem.gather(linear.head_outputs(job, read.vectors), read.sequences, table)


def _notes(encoder: Encoder, job: Job) -> Iterator[str]:
    """Yield a note if the probe reads a summary whose layers nobody has trained."""
    reads_pooler = job.problem.head.reads_summary and job.fit.recipe.summary == "pooler"
    if reads_pooler and encoder.fresh_modules:
        yield UNTRAINED_POOLER
