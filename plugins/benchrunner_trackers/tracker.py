"""The base class of trackers, and what a tracker is told about a fit."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from benchrunner import RequestError
from benchrunner.results import Fit
from benchrunner_trackers.settings import TrackerSettings


class Tracker(ABC):
    """One tracker with one open run at most. The run of a fit is found again by the fit's id."""

    name: str
    module: str
    """Module of the library, which is imported when the tracker is made."""

    def __init__(self, settings: TrackerSettings) -> None:
        self.settings = settings
        self.folder = settings.folder / self.name

    def library(self) -> ModuleType:
        """Import the library; a `RequestError` says how to install it."""
        try:
            return importlib.import_module(self.module)
        except ImportError as error:
            raise RequestError(
                f"The tracker '{self.name}' cannot be used ({error}): pip install 'benchrunner[trackers]'."
            ) from None

    @abstractmethod
    def open(self, fit: Fit, first_step: int | None) -> int:
        """Open the run of a fit, which may exist already, and return the last step that it keeps, 0 for none.

        `first_step` is the step of the figures that come next; None if only scores come.
        """

    @abstractmethod
    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Add values to the curves of the open run."""

    @abstractmethod
    def close(self, *, failed: bool) -> None:
        """Close the open run; everything that was added is on disk afterwards."""


def run_name(fit: Fit) -> str:
    """Name the run of a fit for people; the fit's id makes the name unique."""
    return f"{fit.task} {fit.backbone} lr {fit.recipe.lr:g} seed {fit.seed} {fit.id}"


def parameters(fit: Fit) -> dict[str, Any]:
    """Return what a fit was asked to do, by names that trackers show."""
    return {
        "task": fit.task,
        "backbone": fit.backbone,
        "revision": fit.revision,
        "method": fit.method,
        "seed": fit.seed,
        "fit": fit.id,
        **{name: value for name, value in fit.recipe.as_dict().items() if value is not None},
    }
