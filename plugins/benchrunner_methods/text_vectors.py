"""Vectors of texts, which are compared by their cosine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from benchrunner.engine import Encoder, Features, FlatBatch, heads, steps

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner.engine import Job


def texts_apart(table: pa.Table) -> list[pa.Table]:
    """Return a table of single texts for each text of the rows: two of a pair."""
    texts = [name for name in ("a", "b") if name in table.column_names]
    kept = [name for name in table.column_names if name not in texts]
    return [table.select([text, *kept]).rename_columns(["a", *kept]) for text in texts]


def summary_of(job: Job) -> str:
    """Return the recipe's `summary`, but the mean for `pooler`: most poolers were not trained to compare texts.

    A sentence-embedding model's own summary is no pooler: see `Backbone.summary`.
    """
    summary = job.fit.recipe.summary
    return "mean" if summary == "pooler" else summary


def batch_vectors(encoder: Encoder, job: Job, batch: FlatBatch) -> torch.Tensor:
    """Compute the vector of each sequence of a batch, in the order of the units: (N, hidden) in fp32."""
    vectors = heads.summarize(summary_of(job), encoder, encoder(batch), batch)
    return vectors.float().index_select(0, batch.restore)


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Return vectors of the same directions with the length 1."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12))


def all_vectors(encoder: Encoder, job: Job, features: Features) -> np.ndarray:
    """Compute the vector of each sequence of a data set, (sequences, hidden), without dropout."""
    encoder.to(job.computing.device).eval()
    return steps.predict(job, lambda batch: batch_vectors(encoder, job, batch), features, "sequence")
