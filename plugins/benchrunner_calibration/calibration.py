"""The calibration of a study: a result whose figures say how far probabilities of labels can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

from benchrunner import BenchrunnerError, DataNotFound, RequestError
from benchrunner.engine import first_line
from benchrunner.results import Result, Runner, comparison, intervals
from benchrunner_calibration.binning import Binning
from benchrunner_calibration.measured import Measured, SystemReliability, measured_cell
from benchrunner_calibration.measures import NO_INTERVAL, SQUARE, root

ABOUT = (
    "the confidence of an answer is its probability; calibration error: root of the mean squared difference of "
    "confidence and accuracy in bins, without bias; plain ECE, without a root, is too large by chance, the more "
    "the fewer the rows"
)


@final
@dataclass(frozen=True)
class LeftOut:
    """A system that has no calibration on a split, and why."""

    system: str
    task: str
    split: str
    reason: str

    def __str__(self) -> str:
        return f"{self.system} on {self.task}, {self.split}: {self.reason}"


@final
@dataclass(frozen=True)
class Calibration:
    """The calibration of all systems of a study on all dev splits."""

    binning: Binning
    result: Result
    """The study with the figures of calibration in the place of its own."""
    reliability: tuple[SystemReliability, ...]
    left_out: tuple[LeftOut, ...]


def calibration_of(
    result: Result, runner: Runner, *, binning: Binning | None = None, with_temperature: bool = False
) -> Calibration:
    """Compute the calibration of all systems of a result on all dev splits, from kept outputs. Nothing is fitted.

    What has no probabilities of labels, or is not kept, is in `left_out` with the reason. Raises a `RequestError` if
    this is everything.
    """
    binning = binning or Binning()
    measured = list[Measured]()
    left_out = list[LeftOut]()
    for cell in result.read_once(runner).table_cells:
        task = cell.cell.task
        for split in task.named("dev"):
            title = comparison.titles(cell, result)
            if len(task.named("dev")) > 1:
                title = f"{title} ({split})"
            try:
                measured.append(measured_cell(cell, split, title, binning, with_temperature))
            except BenchrunnerError as error:
                reason = first_line(error)
                if isinstance(error, DataNotFound):
                    reason = f"{reason.rstrip(':')}: give it with --data DIR"
                left_out.append(LeftOut(cell.cell.system, task.name, split, reason))
    if not measured:
        reasons = "; ".join(dict.fromkeys(f"{part.task}: {part.reason.rstrip('.')}" for part in left_out))
        raise RequestError(f"Nothing here has probabilities that can be read. {reasons}.")
    systems = tuple(part.reliability for part in measured)
    return Calibration(binning, _result(result, measured, binning), systems, tuple(left_out))


def _result(result: Result, measured: Sequence[Measured], binning: Binning) -> Result:
    """Return the study with the figures of calibration, their intervals and the tests between systems."""
    found = tuple(part.cell for part in measured)
    names = {cell.cell.system for cell in found}
    columns = {}
    for part in measured:
        for column in part.columns:
            columns[column.name] = column
    every = tuple(columns.values())
    study = replace(
        result.study,
        systems=tuple(system for system in result.study.systems if system.name in names),
        columns=tuple(column for column in every if column.metric not in NO_INTERVAL),
        cells=tuple(cell.cell for cell in found),
        stages=(),
        published=(),
        margin=None,
        systems_down=False,
        title=f"calibration in {binning.count} bins of {binning.kind.replace('-', ' ')}",
        about=ABOUT,
    )
    tested = Result(study, found, result.baseline, runner=result.runner)
    known = dict(tested.statistics.intervals)
    for (system, place), interval in tested.statistics.intervals.items():
        of_root = place.removesuffix("²")
        if of_root in columns and of_root != place:
            # The interval of the calibration error is the root of that of its square.
            known[system, of_root] = intervals.Interval(root(interval.low), root(interval.high))
    statistics = replace(tested.statistics, intervals=known, mean_ranks={}, say=better_calibrated)
    return replace(tested, study=replace(study, columns=every), given_statistics=statistics)


def better_calibrated(result: Result, shown: int) -> list[str]:
    """Say which systems are better calibrated than others by the tests, and where no difference is clear."""
    better = dict[str, list[str]]()
    for _, _, name in result.statistics.tests:
        better[name] = []
    if result.statistics.is_ranking:
        for (system, name), standing in result.statistics.standings.items():
            if standing in ("best", "tied"):
                better[name].append(system)
    else:
        for (system, other, name), pair in result.statistics.tests.items():
            if pair.is_clear:
                better[name].append(system if pair.comparison.gain > 0 else other)
    said = []
    for column in result.study.columns:
        if column.metric == SQUARE and column.name in better:
            said.append((", ".join(dict.fromkeys(better[column.name])) or "no clear difference", column.title))
    return [
        f"Better calibrated on {', '.join(titles)}: {systems}." for systems, titles in comparison.grouped(said).items()
    ]
