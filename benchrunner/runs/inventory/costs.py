"""What runs cost: the time that each took, and the bytes of its folder by what they hold."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from benchrunner.errors import DamagedFile
from benchrunner.io.seals import read_sealed
from benchrunner.parameters.recipes import RECIPE_FIELDS

KINDS = {
    "model": "weights",
    "checkpoint": "checkpoints",
    "state": "checkpoints",
    "outputs": "outputs",
    "predictions": "predictions",
}
"""Folder in a run's folder -> what it holds; everything else are records and logs."""
OTHER = "records"


@final
@dataclass(frozen=True)
class Sizes:
    """Bytes of a run folder, or of several."""

    of_kinds: Mapping[str, int] = field(default_factory=dict)
    """Bytes of `weights`, `checkpoints`, `outputs`, `predictions` and `records`."""

    @property
    def total(self) -> int:
        """Bytes of all files."""
        return sum(self.of_kinds.values())

    def as_json(self) -> dict[str, Any]:
        """Return the sizes as JSON values."""
        return {"bytes": self.total, **self.of_kinds}


Files = dict[str, "list[os.DirEntry[str]]"]
"""Kind of content -> the files in a run's folder."""


def files_of(folder: str | Path) -> Files:
    """List the files of one run by what they hold."""
    files: Files = {kind: [] for kind in dict.fromkeys((*KINDS.values(), OTHER))}
    for entry in _entries(folder):
        files[KINDS.get(entry.name, OTHER)] += _files(entry)
    return files


def sizes_of(folder: str | Path) -> Sizes:
    """Measure the folder of one run."""
    return sizes_of_files(files_of(folder))


def sizes_of_files(files: Files) -> Sizes:
    """Add the sizes of files. Files that vanish meanwhile count nothing."""
    return Sizes({kind: sum(map(_size, entries)) for kind, entries in files.items()})


def sum_of(sizes: Iterable[Sizes]) -> Sizes:
    """Add the sizes of several runs."""
    total = dict.fromkeys((*KINDS.values(), OTHER), 0)
    for part in sizes:
        for kind, size in part.of_kinds.items():
            total[kind] += size
    return Sizes(total)


def size_text(size: int) -> str:
    """Write a size in the largest unit of 1,000 bytes, with three digits or fewer."""
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 9.95 else f"{value:.1f} {unit}"


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    """List a folder; empty if it cannot be read or vanished."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _files(entry: os.DirEntry[str]) -> list[os.DirEntry[str]]:
    """List the files below an entry of a folder, or the entry itself. Links are not followed."""
    if not entry.is_dir(follow_symlinks=False):
        return [entry]
    files = []
    for inner in _entries(entry.path):
        files += _files(inner)
    return files


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0


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
            record = read_sealed(path, "")
            timings, numerics = record["timings"], record["numerics"]
            if record["status"] != "done" or not timings.get("examples_per_second"):
                continue
            fit = read_sealed(path.parent / "fit.json", "")
            yield FinishedCost(
                task=str(fit["task"]),
                revision=str(fit["revision"]),
                method=str(fit["method"]),
                device=str(numerics["device"]),
                precision=str(fit["recipe"].get("precision", RECIPE_FIELDS["precision"].default)),
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
