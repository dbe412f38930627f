"""What finished fits cost, and how long fits like them are expected to take."""

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
class FitCost:
    """What a finished fit cost."""

    task: str
    kind: tuple[str, str, str, str]
    """Revision of the backbone, method, kind of the device such as `cpu`, and precision."""
    row_seconds: float
    """Seconds of training for one row, once."""
    fixed_seconds: float
    """Seconds of everything else: loading, encoding, saving."""


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


def expected_seconds(costs: Sequence[FitCost], task: str, kind: tuple[str, str, str, str], rows: int) -> float | None:
    """Return the seconds that a fit is expected to take, by the finished fits of its kind; None without any.

    Fits of the same task are taken; if there are none, those of other tasks, whose rows may be longer or shorter.
    `rows` are those that the fit reads, each once in every epoch.
    """
    same = [cost for cost in costs if cost.kind == kind]
    evidence = [cost for cost in same if cost.task == task] or same
    seconds = [cost.fixed_seconds + rows * cost.row_seconds for cost in evidence]
    return statistics.median(seconds) if seconds else None
