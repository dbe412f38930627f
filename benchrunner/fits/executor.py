"""Executors, which run the fits of a study."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, final

from benchrunner.errors import RequestError
from benchrunner.fits.computing import Computing
from benchrunner.fits.fit import Fit
from benchrunner.fits.progress import Event
from benchrunner.fits.record import Record
from benchrunner.workspace import Workspace


@final
@dataclass(frozen=True)
class FitCost:
    """Estimate of what a fit costs. It depends on the fit alone, and not on the machine."""

    flops: float
    """Floating-point operations of the training; 0 if no backbone is read."""
    memory: int
    """Bytes of memory of a process that runs the fit on a CPU."""


class FitRunner(Protocol):
    """The part of `benchrunner.Runner` that an executor may use to run fits."""

    @property
    def workspace(self) -> Workspace:
        """The folders for data, runs and cache."""

    @property
    def computing(self) -> Computing:
        """How fits are computed, as it was asked for: the device may be `auto`."""

    @property
    def report(self) -> Callable[[Fit, Event], None]:
        """Callback for progress."""

    @property
    def device(self) -> str:
        """Name of the device for torch, for example "cuda:0"."""

    @property
    def limit_dev(self) -> tuple[int | None, str]:
        """Largest number of rows of each dev split that is read (None: all), and which rows these are."""

    def cost(self, fit: Fit) -> FitCost:
        """Estimate what a fit costs."""

    def workers_can_run(self, fits: Iterable[Fit]) -> bool:
        """Whether processes on this machine find the plugins of the fits, and fits run on a CPU."""

    def run(self, fit: Fit) -> Record:
        """Run a fit, or read its record if it is finished."""

    def finished(self, fit: Fit) -> Record | None:
        """Read the record of a fit; None if the fit must run, because it is not finished or has failed."""


class Executor(ABC):
    """Runs independent fits, in this process or elsewhere."""

    name: str
    about: str

    def configured(self, options: Mapping[str, str]) -> Executor:
        """Return an executor like this one with options, as `--executor-option NAME=VALUE` gives them.

        An executor with options overrides this method; `read_settings` reads options into a settings dataclass.
        """
        if options:
            raise RequestError(f"The executor '{self.name}' has no options: leave --executor-option out.")
        return self

    @abstractmethod
    def run(self, fits: Iterable[Fit], runner: FitRunner) -> Iterator[tuple[Fit, Record]]:
        """Run every fit once and yield it with its record, in any order. A fit that fails yields a record as well."""
