"""What a fit or a prediction left: its scores, timings, flags and how it was computed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from benchrunner.metrics import Score

Status = Literal["done", "diverged", "failed"]


@dataclass(frozen=True)
class Record:
    """What a fit or a prediction left. Its file is written last: its presence means that the rest is whole."""

    id: str
    status: Status
    reason: str = ""
    """Why it diverged or failed."""
    scores: Mapping[str, Score] = field(default_factory=dict)
    """A prediction's, by metric; the first is the headline."""
    flags: tuple[str, ...] = ()
    """Warnings about a done record: nothing flagged leaves a mean."""
    timings: Mapping[str, float] = field(default_factory=dict)
    """Seconds, and rates per second."""
    numerics: Mapping[str, Any] = field(default_factory=dict)
    """How it was computed; equal numerics and equal identity give equal bits."""
    notes: tuple[str, ...] = ()
    """What a reader should know: rows left out, counts that differ, a head that was dropped."""

    def as_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "scores": {name: one.as_json() for name, one in self.scores.items()}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        scores = {name: Score.from_json(one) for name, one in data["scores"].items()}
        return cls(**{**data, "scores": scores, "flags": tuple(data["flags"]), "notes": tuple(data["notes"])})
