"""Executors, which run the fits of a study, and estimates of what fits and commands cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

from benchrunner.errors import RequestError
from benchrunner.fits.computing import Computing
from benchrunner.fits.fit import Fit, Record
from benchrunner.fits.progress import Event
from benchrunner.workspace import Workspace


@final
@dataclass(frozen=True)
class CommandEstimate:
    """The work that a command has left to do. A plugin's command offers it by `set_defaults(estimate=FUNCTION)`.

    The function gets the parsed arguments and returns an estimate. It must not change anything.
    """

    left: str
    """What is left to do, in a few words, for example "900 of 1,000 steps"; empty if nothing is left."""
    flops: float | None = None
    """Floating-point operations that are left; None if they are not counted."""
    seconds: float | None = None
    """Seconds that are left on this machine, by what the command measured in an earlier run; None if it did not."""


@final
@dataclass(frozen=True)
class FitCost:
    """Estimate of what a fit costs. It depends on the fit alone, and not on the machine."""

    flops: float
    """Floating-point operations of the training; 0 if no backbone is read."""
    memory: int
    """Bytes of memory of a process that runs the fit on a CPU."""


@final
@dataclass(frozen=True)
class FitRunner:
    """What an executor needs to run the fits of a study."""

    workspace: Workspace
    """The folders for data, runs and cache."""
    computing: Computing
    """How fits are computed, as it was asked for: the device may be `auto`."""
    report: Callable[[Fit, Event], None]
    """Callback for progress."""
    run: Callable[[Fit], Record]
    """Runs a fit in this process, or reads its record if it is finished."""
    cost: Callable[[Fit], FitCost]
    """Estimates what a fit costs."""
    has_installed_plugins: bool
    """Whether all plugins are installed, so that other processes on this machine find them."""
    rows: Any = None
    """Rows to predict with a finished fit, whose folder the caller has locked, instead of fitting; usually None."""


class Executor(ABC):
    """Runs independent fits, in this process or elsewhere."""

    name: str
    about: str

    def configured(self, options: Mapping[str, str]) -> Executor:
        """Return an executor like this one with options, as `--executor-option NAME=VALUE` gives them.

        An executor with options overrides this method; `Declared.read` builds a dataclass of options from texts.
        """
        if options:
            raise RequestError(f"The executor '{self.name}' has no options: leave --executor-option out.")
        return self

    @abstractmethod
    def run(self, fits: Iterable[Fit], runner: FitRunner) -> Iterator[tuple[Fit, Record]]:
        """Run every fit once and yield it with its record, in any order. A fit that fails yields a record as well."""
