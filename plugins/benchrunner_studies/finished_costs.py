"""What finished fits cost, and what fits like them are expected to cost."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from benchrunner import DamagedFile, Recipe
from benchrunner.engine import seals


@final
@dataclass(frozen=True)
class FinishedCost:
    """Measured cost of a finished fit."""

    task: str
    revision: str
    """Revision of the backbone."""
    method: str
    device: str
    """Kind of the device, for example `cpu` or `cuda`."""
    precision: str
    row_seconds: float
    """Seconds of training for one row, once."""
    fixed_seconds: float
    """Seconds of everything else: loading, encoding, saving."""


@final
@dataclass(frozen=True)
class MeasuredCost:
    """What a fit is expected to cost, with the finished fits that this rests on."""

    row_seconds: float
    fixed_seconds: float
    basis: str
    """The finished fits, in a few words."""

    def seconds(self, rows: int) -> float:
        """Return the seconds of a fit that reads this number of rows, each once in every epoch."""
        return self.fixed_seconds + rows * self.row_seconds


def finished_costs(runs: Path) -> Iterator[FinishedCost]:
    """Yield what each finished fit in a runs folder cost; fits without measured rows and damaged folders are left out.

    A fit that was continued after a kill says what its last part cost for a row.
    """
    for path in sorted(runs.glob("[!.]*/record.json")):
        try:
            record = seals.read_sealed(path, "")
            timings, numerics = record["timings"], record["numerics"]
            if record["status"] != "done" or not timings.get("examples_per_second"):
                continue
            fit = seals.read_sealed(path.parent / "fit.json", "")
            yield FinishedCost(
                task=str(fit["task"]),
                revision=str(fit["revision"]),
                method=str(fit["method"]),
                device=str(numerics["device"]),
                precision=str(fit["recipe"].get("precision", Recipe.precision)),
                row_seconds=1 / float(timings["examples_per_second"]),
                fixed_seconds=max(0.0, float(timings["seconds"]) - float(timings["train_seconds"])),
            )
        except (DamagedFile, ValueError, KeyError, TypeError, AttributeError):
            continue


def measured_cost(costs: Sequence[FinishedCost], wanted: FinishedCost) -> MeasuredCost | None:
    """Return what a fit like `wanted` cost, on the same kind of device and in the same precision; None if unknown.

    Fits of the same backbone, method and task count; if there are none, those of the same backbone and method on other
    tasks, whose rows may be longer or shorter. The figures of `wanted` are not read.
    """
    machine = (wanted.revision, wanted.method, wanted.device, wanted.precision)
    same = [cost for cost in costs if (cost.revision, cost.method, cost.device, cost.precision) == machine]
    own = [cost for cost in same if cost.task == wanted.task]
    evidence, tasks = own or same, sorted({cost.task for cost in same})
    if not evidence:
        return None
    fits = f"{len(evidence)} finished fit{'s' * (len(evidence) > 1)}"
    basis = f"{fits} of the backbone on the task" if own else f"{fits} of the backbone on {', '.join(tasks)}: rough"
    return MeasuredCost(
        statistics.median(cost.row_seconds for cost in evidence),
        statistics.median(cost.fixed_seconds for cost in evidence),
        basis,
    )
