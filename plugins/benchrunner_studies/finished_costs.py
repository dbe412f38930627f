"""What finished fits cost, and what fits like them are expected to cost."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from benchrunner import DamagedFile, Recipe
from benchrunner.engine import seals


@final
@dataclass(frozen=True)
class FitCost:
    """What a fit of a task cost, or is expected to cost."""

    task: str
    kind: tuple[str, str, str, str]
    """Revision of the backbone, method, kind of the device such as `cpu`, and precision."""
    row_seconds: float = 0.0
    """Seconds of training for one row, once."""
    fixed_seconds: float = 0.0
    """Seconds of everything else: loading, encoding, saving."""
    basis: str = ""
    """The finished fits on which an expected cost rests, in a few words."""

    def seconds(self, rows: int) -> float:
        """Return the seconds of a fit that reads this number of rows, each once in every epoch."""
        return self.fixed_seconds + rows * self.row_seconds


def finished_costs(runs: Path) -> Iterator[FitCost]:
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
            precision = fit["recipe"].get("precision", Recipe.precision)
            yield FitCost(
                task=str(fit["task"]),
                kind=(fit["revision"], fit["method"], numerics["device"], precision),
                row_seconds=1 / float(timings["examples_per_second"]),
                fixed_seconds=max(0.0, float(timings["seconds"]) - float(timings["train_seconds"])),
            )
        except (DamagedFile, ValueError, KeyError, TypeError, AttributeError):
            continue


def expected_cost(costs: Sequence[FitCost], wanted: FitCost) -> FitCost | None:
    """Return what a fit like `wanted` is expected to cost, by the finished fits that are like it; None without any.

    Fits of the same task are taken; if there are none, those of other tasks, whose rows may be longer or shorter. The
    seconds in `wanted` are not read.
    """
    same = [cost for cost in costs if cost.kind == wanted.kind]
    own = [cost for cost in same if cost.task == wanted.task]
    evidence = own or same
    if not evidence:
        return None
    where = "the task" if own else f"{', '.join(sorted({cost.task for cost in same}))}: rough"
    fits = f"{len(evidence)} finished fit{'s' * (len(evidence) > 1)}"
    return replace(
        wanted,
        row_seconds=statistics.median(cost.row_seconds for cost in evidence),
        fixed_seconds=statistics.median(cost.fixed_seconds for cost in evidence),
        basis=f"{fits} of the backbone on {where}",
    )
