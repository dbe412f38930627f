"""Where fits run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from benchrunner.fits import Fit
    from benchrunner.records import Record
    from benchrunner.runner import Runner


class Executor(ABC):
    """Runs independent fits and gives back each with its record, in any order."""

    name: str
    about: str

    @abstractmethod
    def run(self, fits: Iterable[Fit], runner: Runner) -> Iterator[tuple[Fit, Record]]:
        """Every fit once; a fit that fails gives its record and stops nobody."""


@final
class Local(Executor):
    """One after another in this process."""

    name = "local"
    about = "one fit after another on this machine"

    def run(self, fits: Iterable[Fit], runner: Runner) -> Iterator[tuple[Fit, Record]]:
        for fit in fits:
            yield fit, runner.run(fit)
