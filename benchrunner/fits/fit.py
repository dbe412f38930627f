"""Fits and predictions as values, and records of their outcome.

The id of a fit or prediction is a hash of everything that can change its result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from benchrunner.io.identity import identity
from benchrunner.io.json_form import WHEN_GIVEN, as_json
from benchrunner.metrics import Score
from benchrunner.parameters.recipes import Recipe


@dataclass(frozen=True)
class Fit:
    """Plan to train one backbone on the training data of one task, with one method, recipe and seed.

    The id covers everything that training can see. The names of the task and of the backbone are not part of it: equal
    weights under another path and equal rows from another source give the same fit.
    """

    task: str
    backbone: str
    """Name, path or hub id of the backbone, or `run:ID`; empty for a method that needs no backbone."""
    method: str
    recipe: Recipe
    seed: int
    data: str
    """Fingerprint of the training rows."""
    problem: Mapping[str, Any]
    revision: str
    """Revision of the backbone: a hash of its weights and tokenizer."""
    suppliers: Mapping[str, str]
    """Versions of the plugins whose code takes part, by title of the plugin."""
    method_fields: str = field(default="", metadata=WHEN_GIVEN)
    """Hash of the fields of the method, if it is a frozen dataclass and has any."""
    folds: int = field(default=0, metadata=WHEN_GIVEN)
    """Number of fits of which each is kept from one fold and answers its rows; 0 if this is a fit by itself."""
    shorter: str = field(default="", compare=False, metadata=WHEN_GIVEN)
    """Id of a fit that takes the first steps of this fit and no others; if it left its state, this fit goes on from it.
    Like `leaves_state`, this says how a fit is computed, and is no part of its identity."""
    leaves_state: bool = field(default=False, compare=False, metadata=WHEN_GIVEN)
    """Whether the fit leaves the state of its training to a longer fit."""

    @cached_property
    def id(self) -> str:
        """Hash of everything that training can see."""
        seen = as_json(self)
        for name in ("task", "backbone", "shorter", "leaves_state"):
            seen.pop(name, None)
        return identity(seen)

    @property
    def weights_gone(self) -> str:
        """The beginning of every message about a finished fit whose weights were removed, or never kept."""
        return f"The weights of the fit {self.id} ({self.task}, {self.backbone}) were not kept"

    @property
    def no_model(self) -> str:
        """Why there is no model of a cross-validated fit, and what to do."""
        return (
            f"The fit {self.id} ({self.task}, {self.backbone}) has no model: it consists of {self.folds} fits, each "
            f"kept from some of the rows. Fit all rows: 'benchrunner run {self.task.rpartition('@')[0]} --backbone "
            f"{self.backbone}'."
        )


@dataclass(frozen=True)
class Prediction:
    """Plan to answer the rows of one split with a fit."""

    fit: str
    """Id of the fit."""
    task: str
    """Name of the task whose metrics score the answers; two tasks may share a fit."""
    split: str
    data: str
    """Fingerprint of the rows: other questions or other labels make another prediction."""
    settings: Mapping[str, Any]
    """Settings of decoding, such as a threshold that was tuned on dev."""
    scoring: str = field(default="", metadata=WHEN_GIVEN)
    """Hash of what decodes and scores besides the settings: see `Task.scoring`."""
    limit_dev: int | None = field(default=None, metadata=WHEN_GIVEN)
    """Number of rows of the dev split that are answered; None is all rows."""

    @cached_property
    def id(self) -> str:
        """Hash of the whole prediction."""
        return identity(self)

    @property
    def place(self) -> str:
        """The split, with which of its rows are answered unless these are all."""
        if self.limit_dev is None:
            return self.split
        return f"{self.split} ({self.limit_dev:,} rows)"


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
    """What a training read: `train_tokens`, each once in every epoch. Empty where this was not counted."""
    numerics: Mapping[str, Any] = field(default_factory=dict)
    """How the result was computed (device, threads, versions): equal ids and equal numerics give equal bits."""
    checksums: Mapping[str, str] = field(default_factory=dict)
    """Checksums of the files that the record describes, by their names: of a fit, the files of its model; of a
    prediction, its answers."""
    notes: tuple[str, ...] = ()
    """Remarks for the reader: rows left out, counts that differ from the official ones, a head that was dropped."""
