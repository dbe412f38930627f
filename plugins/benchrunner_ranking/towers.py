"""Methods with two towers that share their weights: one encoder gives the vectors of queries and of passages."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, final

from benchrunner import RequestError
from benchrunner.engine import Finetune, Job, Method, Outcome, Problem
from benchrunner_ranking.retrieve import Retrieve

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from benchrunner.engine import Encoder


def summaries(encoder: Encoder, job: Job) -> Any:
    """Make a head without weights, whose outputs are the summaries that the recipe names."""
    from benchrunner_ranking.summary_head import SummaryHead

    return SummaryHead(job.fit.recipe.summary)


class Towers(Method):
    """A method whose fits answer by the similarity of summaries of queries and passages."""

    trained = Finetune(name="two-tower", fresh_head=summaries)
    """Trains the encoder, and computes the vectors of rows."""

    def check(self, problem: Problem) -> None:
        if not isinstance(problem, Retrieve):
            raise RequestError(
                f"The method '{self.name}' learns retrieval from a corpus, not problems of the kind '{problem.name}'. "
                "Leave --method out, or choose tasks of the kind 'retrieve'."
            )

    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        """Search the whole corpus for the passages that are nearest to each query."""
        problem = job.problem
        assert isinstance(problem, Retrieve)
        corpus = problem.corpus.checked(job.workspace, table)
        queries = self.trained.predict(job, table)
        passages = self.trained.predict(job, corpus.table)
        return problem.found(queries, passages, corpus.table.column("id").to_pylist())


@final
class TwoTower(Towers):
    """Trains the encoder so that a query is nearer to its passage than to the other passages of the batch."""

    name = "two-tower"
    about = "retrieval: train all weights so that queries are near their passages"
    recipe_fields = tuple(field for field in Towers.trained.recipe_fields if field != "head_layer")
    training_fields = Towers.trained.training_fields

    def fit(self, job: Job) -> Outcome:
        return self.trained.fit(job)


@final
class FrozenTowers(Towers):
    """Searches with the backbone as it is, which is how BEIR asks for models that have seen none of its queries."""

    name = "frozen-towers"
    about = "retrieval: search with the weights as they are; no learning"
    trains_encoder = False
    trains_in_steps = False
    is_random = False
    recipe_fields = ("summary",)

    def fit(self, job: Job) -> Outcome:
        from benchrunner.engine import steps

        started = time.monotonic()
        encoder = steps.load_encoder(job, seed=0)
        head = self.trained.make_head(encoder, job)
        steps.save(job, encoder, {"head": head})
        numerics = steps.numerics_of_frozen(job, encoder)
        return Outcome(timings={"train_seconds": time.monotonic() - started}, numerics=numerics, notes=encoder.notes)
