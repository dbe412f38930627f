"""Budgets of studies: what all fits may cost, and what some fits cost."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import final

from benchrunner.errors import RequestError
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import Cell
from benchrunner.studies.planning import shorter_recipes


@final
@dataclass(frozen=True)
class Budget:
    """What all fits of a study together may cost, or do cost, those included that were finished before."""

    fits: float = math.inf
    epochs: float = math.inf
    """Passes over training data."""
    seconds: float = math.inf
    """Seconds of fitting, as records have them."""

    @classmethod
    def read(cls, text: str) -> Budget:
        """Read a budget such as `40 fits`, `60 epochs`, `4h` or `90min`."""
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(fits|epochs|h|min)", text.strip())
        if match is None:
            raise RequestError(f"A budget is written as 40fits, 60epochs, 4h or 90min, not '{text}'.")
        limit, unit = float(match[1]), match[2]
        if unit in ("fits", "epochs"):
            return cls(**{unit: limit})
        return cls(seconds=limit * (3600 if unit == "h" else 60))

    def covers(self, cost: Budget) -> bool:
        """Return whether a cost is within the budget."""
        return cost.fits <= self.fits and cost.epochs <= self.epochs and cost.seconds <= self.seconds


def cost_of(cells: Iterable[Cell], finished: Container[str], runner: Runner) -> Budget:
    """Add up what the fits of some cells cost, each once; `finished` are the ids of those that are over.

    An epoch of another fit counts as many seconds as one of the cell's finished fits, also if there is a record:
    repeated, a study decides alike.
    """
    epochs = dict[str, float]()
    seconds = dict[str, float]()
    for cell in cells:
        of_cell = fit_epochs(cell)
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
    return Budget(len(epochs), sum(epochs.values()), sum(seconds.values()))


def fit_epochs(cell: Cell) -> dict[str, float]:
    """Map ids of a cell's fits to their passes over the training data, without the steps that a fit takes over."""
    rows = cell.candidates[0].rows or 0
    shorter = shorter_recipes((point.recipe for point in cell.candidates), rows, cell)
    passes_of_folds = cell.task.folds.passes if cell.task.folds else 1
    epochs = dict[str, float]()
    for point in cell.candidates:
        taken_over = shorter[point.recipe].passes(rows) if point.recipe in shorter else 0
        passes = passes_of_folds * (point.recipe.passes(rows) - taken_over)
        epochs |= dict.fromkeys((fit.id for fit in point.fits), passes)
    return epochs
