"""Marks of the cells of a comparison, each with a line of the legend that explains it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import final

from benchrunner.studies.study import CellResult, Result
from benchrunner.studies.study_statistics import BackboneDifference, StudyStatistics
from benchrunner.tasks.suites import Term

CLEAR, CLEAR_FITS = "*", "(*)"
"""Marks of a clear difference from the first backbone: between backbones, and between single fits only."""
LOST, ABSENT = "some fits have no scores", "a score is absent"
"""What the legend says of lost fits and absent scores."""


@final
@dataclass(frozen=True)
class Marks:
    """The letters of warnings, in the order in which they first appear in a study."""

    letters: dict[str, str]
    """Warning -> letter."""
    statistics: StudyStatistics

    @classmethod
    def of(cls, result: Result, statistics: StudyStatistics) -> Marks:
        """Give every warning of a study a letter."""
        warnings = dict.fromkeys(warning for cell in result.cells for warning in _warnings(cell))
        return cls(
            {warning: "abcdefghijklmnopqrstuvwxyz"[number] for number, warning in enumerate(warnings)}, statistics
        )

    def of_cell(self, cell: CellResult, term: Term) -> str:
        """Return the marks of one figure."""
        clear = clear_mark(self.statistics.tests.get((cell.cell.backbone, term)))
        letters = (letter for warning, letter in self.letters.items() if warning in _warnings(cell, term))
        return clear + "".join(letters)

    def legend(self, first: str) -> Iterator[str]:
        """Yield a line for each mark that is used; `first` is the backbone with which the others are compared."""
        yield from clear_legend(self.statistics.tests.values(), first)
        for warning, letter in self.letters.items():
            yield f"{letter}  {warning}"


def clear_mark(test: BackboneDifference | None) -> str:
    """Return the mark of a figure with this test; nothing if there is no test or no clear difference."""
    if test is None or not test.is_clear:
        return ""
    return CLEAR if test.comparison.claim == "backbones" else CLEAR_FITS


def clear_legend(tests: Collection[BackboneDifference], first: str) -> Iterator[str]:
    """Yield a line for each mark of a clear difference; `first` says with what the others are compared."""
    marks = {clear_mark(test) for test in tests}
    after = f"p < 0.05 after Holm's correction for {len(tests)} test{'s' * (len(tests) > 1)}"
    if CLEAR in marks:
        yield f"{CLEAR}  differs from {first}: {after}"
    if CLEAR_FITS in marks:
        yield f"{CLEAR_FITS}  this fit differs from that of {first}, perhaps only because of the seeds: {after}"


def _warnings(cell: CellResult, term: Term | None = None) -> list[str]:
    """List the warnings of a cell, or with `term` those of one of its figures."""
    restarts = len(cell.restarts)
    warnings = [
        flag if count == restarts else f"{flag} in some restarts" for flag, count in cell.flagged.items() if count
    ]
    terms = [term] if term is not None else list(cell.spreads)
    if any(name not in cell.spreads or cell.spreads[name].mean.value is None for name in terms) or not cell.spreads:
        warnings.append(ABSENT)
    return warnings + ([LOST] if cell.lost else [])
