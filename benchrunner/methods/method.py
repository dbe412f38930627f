"""How a backbone is fitted to a problem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from benchrunner.progress import Event
from benchrunner.workspace import CHECKPOINT_SECONDS

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from benchrunner.backbones.backbone import Backbone
    from benchrunner.data.rows import Rows
    from benchrunner.fits import Fit
    from benchrunner.problems.problem import Problem
    from benchrunner.training.feature_cache import Cache
    from benchrunner.workspace import Workspace


@dataclass(frozen=True)
class Job:
    """Everything a method is given to fit or to predict with."""

    fit: Fit
    problem: Problem
    workspace: Workspace
    cache: Cache
    device: str
    """As torch spells it."""
    model: Path
    """Where `fit` leaves what `predict` needs."""
    checkpoint: Path
    """Where an unfinished fit may keep what it needs to go on; removed when the fit is done."""
    log: Path
    """JSON lines, one a report."""
    report: Callable[[Event], None]
    train: Rows | None = None
    """The training rows; present while fitting."""
    backbone: Backbone | None = None
    """What to start from while fitting, and what to load `model` with when predicting."""
    code: Mapping[str, str] = field(default_factory=dict)
    """The plugins whose code runs -> their versions: part of the cache's keys. A fit of older code has others."""
    head: Path | None = None
    """A finished fit's head for this very problem, where the backbone is such a fit."""
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    """Between two checkpoints."""


@dataclass(frozen=True)
class Outcome:
    """How a fit ended."""

    status: Literal["done", "diverged"] = "done"
    reason: str = ""
    timings: Mapping[str, float] = field(default_factory=dict)
    numerics: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Method(ABC):
    """A way to fit."""

    name: str
    about: str
    needs_backbone: bool = True
    """False for methods that never look at the text: their fits are the same for every backbone."""

    exports: bool = False
    """Whether `head.safetensors` holds one linear layer, `output`, that a checkpoint of other libraries can carry."""
    recipe_fields: tuple[str, ...] = ()
    """The fields of a recipe that only some methods know and this one does."""
    recipe_defaults: Mapping[str, Any] = {}
    """What its recipe has in place of a task's, whose values are for fine-tuning."""

    @abstractmethod
    def fit(self, job: Job) -> Outcome:
        """Learn from `job.train` and leave in `job.model` what `predict` needs."""

    @abstractmethod
    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        """Raw outputs for the rows of a table, in their order, from what `fit` left in `job.model`."""
