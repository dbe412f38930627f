"""Budgets of studies: what all fits together may cost."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from benchrunner import RequestError
from benchrunner.results import Result, Runner, cells, planning

UNITS = {"fits": ("fits", 1), "epochs": ("epochs", 1), "h": ("seconds", 3600), "min": ("seconds", 60)}
"""Unit of a budget -> what it counts, and how much of it: epochs are passes over training data."""


@final
@dataclass(frozen=True)
class Budget:
    """What all fits of a study together may cost, those included that were finished before."""

    most: float = math.inf
    counts: str = "fits"

    @classmethod
    def read(cls, text: str) -> Budget:
        """Read a budget such as `40 fits`, `60 epochs`, `4h` or `90min`."""
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(fits|epochs|h|min)", text.strip())
        if match is None:
            raise RequestError(f"A budget is written as 40fits, 60epochs, 4h or 90min, not '{text}'.")
        counts, size = UNITS[match[2]]
        return cls(float(match[1]) * size, counts)

    def pays(self, changed: Iterable[cells.Cell], result: Result | None, runner: Runner) -> bool:
        """Return whether the budget covers all fits of the study so far, each once, with some cells changed.

        An epoch of another fit counts as many seconds as one of the cell's finished fits, also if there is a record:
        repeated, a study decides alike.
        """
        if self.most == math.inf:
            return True
        of_study = {key: finished.cell for key, finished in planning.finished_cells(result).items()}
        finished = {fit.id for fit in cells.different_fits(of_study.values())}
        of_study |= {cell.key: cell for cell in changed}
        epochs = dict[str, float]()
        seconds = dict[str, float]()
        for cell in of_study.values():
            of_cell = planning.fit_epochs(cell)
            known = {}
            for fit in cell.fits:
                record = runner.folder(fit).record() if fit.id in finished else None
                if record is not None:
                    known[fit.id] = record.timings.get("seconds", 0.0)
            trained = sum(of_cell[fit] for fit in known)
            rate = sum(known.values()) / trained if trained else 0.0
            for fit_id, passes in of_cell.items():
                epochs[fit_id] = passes
                seconds.setdefault(fit_id, known.get(fit_id, rate * passes))
        cost = {"fits": len(epochs), "epochs": sum(epochs.values()), "seconds": sum(seconds.values())}
        return cost[self.counts] <= self.most
