"""Records: the outcome of a fit or a prediction, with scores, timings, flags and numerics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from benchrunner.metrics import Score

Status = Literal["done", "diverged", "failed"]


@dataclass(frozen=True)
class Record:
    """Outcome of a fit or a prediction. The file of a record is written last: where it exists, all other files do."""

    id: str
    status: Status
    reason: str = ""
    """Why the fit or prediction diverged or failed."""
    scores: Mapping[str, Score] = field(default_factory=dict)
    """Scores of a prediction by the name of the metric; the first is the headline. Empty for a fit."""
    flags: tuple[str, ...] = ()
    """Warnings about a finished prediction, such as constant answers. A flagged score still counts in means."""
    timings: Mapping[str, float] = field(default_factory=dict)
    """Durations in seconds, and rates per second."""
    work: Mapping[str, float] = field(default_factory=dict)
    """Amount of computation of a training: `train_tokens`, the tokens that it read, each once in every epoch, and
    `trained_weights`, the weights in matrices that it changed, without those of embeddings. `frozen_weights` are those
    in matrices that it kept, but computed with in every step. Empty where this was not counted."""
    numerics: Mapping[str, Any] = field(default_factory=dict)
    """How the result was computed (device, threads, versions): equal ids and equal numerics give equal bits."""
    checksums: Mapping[str, str] = field(default_factory=dict)
    """Checksums of the files that the record describes, by their names: of a fit, the files of its model; of a
    prediction, its answers."""
    notes: tuple[str, ...] = ()
    """Remarks for the reader: rows left out, counts that differ from the official ones, a head that was dropped."""
