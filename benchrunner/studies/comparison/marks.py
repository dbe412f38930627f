"""Marks of the cells of a table, each with a line of the legend that explains it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from benchrunner.studies.cells import NO_SCORE
from benchrunner.studies.result import Result
from benchrunner.studies.study import Place
from benchrunner.studies.study_statistics import SystemDifference

CLEAR, CLEAR_FITS = "*", "(*)"
"""Marks of a clear difference: between systems or arms, and between single fits only."""


@final
@dataclass(frozen=True)
class Marks:
    """The marks of clear differences, and the letters of warnings in the order in which they first appear.

    Only a table with tasks down has letters: below a table of systems, notes name the systems and columns.
    """

    letters: dict[str, str]
    """Warning -> letter."""
    result: Result

    @classmethod
    def of(cls, result: Result) -> Marks:
        """Give every warning of a study a letter."""
        warnings = dict[str, None]()
        if not result.study.systems_down:
            for cell in result.table_cells:
                warnings |= dict.fromkeys(cell.warnings)
        return cls(dict(zip(warnings, "abcdefghijklmnopqrstuvwxyz", strict=False)), result)

    def of_place(self, place: Place) -> str:
        """Return the marks of one figure."""
        own = set[str]()
        if place in self.result.cell_at:
            own.update(self.result.cell_at[place].warnings)
        own.discard(NO_SCORE)  # it may be the score of another metric
        if self.result.figures[place].mean.value is None:
            own.add(NO_SCORE)
        marks = clear_mark(self.result.statistics.tests.get(place))
        for warning, letter in self.letters.items():
            if warning in own:
                marks += letter
        return marks

    def legend(self) -> Iterator[str]:
        """Yield a line for each mark that is used."""
        statistics = self.result.statistics
        marks = {clear_mark(test) for test in statistics.tests.values()}
        firsts = {statistics.firsts[place] for place in statistics.tests}
        first = firsts.pop() if len(firsts) == 1 else "the system that it is compared with above"
        count = statistics.family
        after = f"p < 0.05 after Holm's correction for {count} test{'s' * (count > 1)}"
        if CLEAR in marks:
            yield f"{CLEAR}  differs from {first}: {after}"
        if CLEAR_FITS in marks:
            yield f"{CLEAR_FITS}  this fit differs from that of {first}, perhaps only because of the seeds: {after}"
        for warning, letter in self.letters.items():
            yield f"{letter}  {warning}"


def clear_mark(test: SystemDifference | None) -> str:
    """Return the mark of a figure with this test; nothing if there is no test or no clear difference."""
    if test is None or not test.is_clear:
        return ""
    return CLEAR_FITS if test.comparison.claim == "fits" else CLEAR
