"""The calibration of a study: figures, reliability and temperatures of its systems, and differences between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import final

from benchrunner import BenchrunnerError, DataNotFound, RequestError
from benchrunner.engine import first_line
from benchrunner.results import Result, Runner, pairs
from benchrunner_calibration.binning import Binning
from benchrunner_calibration.kept_answers import SystemAnswers, answers_of
from benchrunner_calibration.measures import COMPARED, Estimate, compared, estimates
from benchrunner_calibration.reliability import Bin, reliability
from benchrunner_calibration.temperature import Temperature, temperature_of
from benchrunner_statistics import agreeing, holm

LEVEL = 0.05
"""Level of the tests: the probability of even one false mark is at most this."""


@final
@dataclass(frozen=True)
class SystemCalibration:
    """The calibration of a system on a split."""

    system: str
    task: str
    split: str
    rows: int
    clusters: int | None
    """The number of clusters of rows; None where rows are independent."""
    runs: tuple[str, ...]
    """Ids of the fits: the restarts of the chosen grid point."""
    figures: dict[str, Estimate]
    bins: tuple[Bin, ...]
    notes: tuple[str, ...]
    """Remarks about the rows."""
    temperature: Temperature | None = None


@final
@dataclass(frozen=True)
class Difference:
    """A figure of a system less that of another one, on the same rows."""

    task: str
    split: str
    system: str
    other: str
    measure: str
    comparison: pairs.Comparison
    adjusted_p: float
    """The p-value after Holm's correction for all differences of the study."""

    @property
    def is_clear(self) -> bool:
        """Whether the difference survives the correction."""
        return self.adjusted_p < LEVEL


@final
@dataclass(frozen=True)
class LeftOut:
    """A system that has no calibration on a split, or no temperature, and why."""

    system: str
    task: str
    split: str
    reason: str

    def __str__(self) -> str:
        return f"{self.system} on {self.task}, {self.split}: {self.reason}"

    @property
    def on(self) -> tuple[str, str]:
        """The task and the split."""
        return self.task, self.split


@final
@dataclass(frozen=True)
class Calibration:
    """The calibration of all systems of a study on all dev splits."""

    binning: Binning
    systems: tuple[SystemCalibration, ...]
    differences: tuple[Difference, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def splits(self) -> list[tuple[str, str]]:
        """The tasks and splits with figures, in the order of the study."""
        return list(dict.fromkeys((system.task, system.split) for system in self.systems))

    def on(self, task: str, split: str) -> list[SystemCalibration]:
        """Return the systems that have figures on a split."""
        return [system for system in self.systems if (system.task, system.split) == (task, split)]

    def differences_on(self, task: str, split: str) -> list[Difference]:
        """Return the differences between systems on a split."""
        return [part for part in self.differences if (part.task, part.split) == (task, split)]


def calibration_of(
    result: Result,
    runner: Runner,
    *,
    binning: Binning | None = None,
    with_temperature: bool = False,
    with_differences: bool = False,
) -> Calibration:
    """Compute the calibration of all systems of a result on all dev splits, from kept outputs. Nothing is fitted.

    What has no probabilities of labels, or is not kept, is in `left_out` with the reason. Raises a `RequestError` if
    this is everything.
    """
    binning = binning or Binning()
    answers = list[SystemAnswers]()
    left_out = list[LeftOut]()
    for read in _read(result.read_once(runner), runner):
        if isinstance(read, SystemAnswers):
            answers.append(read)
        else:
            left_out.append(read)
    if not answers:
        reasons = "; ".join(dict.fromkeys(f"{part.task}: {part.reason}" for part in left_out))
        raise RequestError(f"Nothing here has probabilities that can be read. {reasons}.")
    systems = list[SystemCalibration]()
    for system in answers:
        measured = _measured(system, binning)
        if with_temperature:
            try:
                measured = replace(measured, temperature=temperature_of(system, runner, binning))
            except BenchrunnerError as reason:
                left_out.append(replace(_place(system), reason=f"no temperature: {first_line(reason)}"))
        systems.append(measured)
    differences = _differences(answers, binning) if with_differences else ()
    return Calibration(binning, tuple(systems), differences, tuple(left_out))


def _read(result: Result, runner: Runner) -> Iterator[SystemAnswers | LeftOut]:
    """Yield the answers of every system to every dev split, or the reason why there are none.

    The name of a system that has several fits on a task, as in a study file, says of which columns these are.
    """
    cells = Counter((cell.cell.system, cell.cell.task.name) for cell in result.table_cells)
    for cell in result.table_cells:
        own = cell.cell
        is_only = cells[own.system, own.task.name] == 1
        name = own.system if is_only else f"{own.system} ({', '.join(own.columns)})"
        for split in own.task.named("dev"):
            try:
                answers = answers_of(cell, split, cell.runner or runner, name)
            except DataNotFound as reason:
                yield LeftOut(name, own.task.name, split, f"{first_line(reason).rstrip(':')}: give it with --data DIR")
            except BenchrunnerError as reason:
                yield LeftOut(name, own.task.name, split, first_line(reason))
            else:
                yield answers


def _place(system: SystemAnswers) -> LeftOut:
    return LeftOut(system.name, system.cell.cell.task.name, system.split, "")


def _measured(system: SystemAnswers, binning: Binning) -> SystemCalibration:
    place = _place(system)
    clusters = len(set(system.units.numbers.tolist())) if system.units.are_clusters else None
    return SystemCalibration(
        place.system,
        place.task,
        place.split,
        system.rows,
        clusters,
        tuple(fit.id for fit in system.cell.restarts),
        estimates(system.restarts, system.units, binning),
        reliability(system.restarts, system.units, binning),
        tuple(dict.fromkeys((*system.cell.limits, *system.notes))),
    )


def _differences(answers: Sequence[SystemAnswers], binning: Binning) -> tuple[Difference, ...]:
    """Compare all pairs of systems that answered the same rows.

    Holm corrects the p-values, and Bonferroni the intervals, for the number of all tests together.
    """
    pairs = [(first, second) for first, second in combinations(answers, 2) if _are_of_equal_rows(first, second)]
    tests = len(pairs) * len(COMPARED)
    comparisons = {}
    for first, second in pairs:
        confidence = 1 - LEVEL / tests
        place = _place(first)
        compared_pair = compared(first.restarts, second.restarts, first.units, binning, confidence=confidence)
        for measure, comparison in compared_pair.items():
            comparisons[place.task, place.split, place.system, second.name, measure] = comparison
    adjusted = holm({key: comparison.p for key, comparison in comparisons.items()})
    differences = []
    for key, comparison in comparisons.items():
        differences.append(Difference(*key, agreeing(comparison, is_clear=adjusted[key] < LEVEL), adjusted[key]))
    return tuple(differences)


def _are_of_equal_rows(first: SystemAnswers, second: SystemAnswers) -> bool:
    """Whether two systems were scored on equal rows: one of them may be limited to few rows."""
    if _place(first).on != _place(second).on or first.rows != second.rows:
        return False
    own, other = first.restarts[0].gold, second.restarts[0].gold
    return bool((own == other).all() and (first.units.numbers == second.units.numbers).all())
