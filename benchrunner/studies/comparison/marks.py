"""Marks of the cells of a table, each with a line of the legend that explains it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from benchrunner.studies.cells import NO_SCORE
from benchrunner.studies.result import Result
from benchrunner.studies.significance.study_statistics import CLEAR, TIED
from benchrunner.studies.study import Place


@final
@dataclass(frozen=True)
class Marks:
    """The marks of clear differences, and the letters of warnings in the order in which they first appear."""

    letters: dict[str, str]
    """Warning -> letter."""
    result: Result

    @classmethod
    def of(cls, result: Result) -> Marks:
        """Give every warning of a study a letter."""
        warnings = dict[str, None]()
        for cell in result.table_cells:
            warnings |= dict.fromkeys(cell.warnings)
        if all(figure.mean.value is not None for figure in result.figures.values()):
            warnings.pop(NO_SCORE, None)  # it is that of a metric without a column
        return cls(dict(zip(warnings, "abcdefghijklmnopqrstuvwxyz", strict=False)), result)

    def of_place(self, place: Place) -> str:
        """Return the marks of one figure."""
        own = set[str]()
        if place in self.result.cell_at:
            own.update(self.result.cell_at[place].warnings)
        own.discard(NO_SCORE)  # it may be the score of another metric
        if self.result.figures[place].mean.value is None:
            own.add(NO_SCORE)
        marks = self.result.statistics.mark(place)
        for warning, letter in self.letters.items():
            if warning in own:
                marks += letter
        return marks

    def legend(self) -> Iterator[str]:
        """Yield a line for each mark that is used."""
        statistics = self.result.statistics
        marks = {statistics.mark(place) for place in self.result.figures}
        others = {other for _, other, _ in statistics.tests}
        first = others.pop() if len(others) == 1 else "the system that it is compared with above"
        count = statistics.family
        after = f"p < 0.05 after correction for {count} test{'s' * (count > 1)}"
        if self.result.study.looks:
            after += f" and {len(self.result.study.looks)} looks"
        meanings = {CLEAR: f"differs from {first}"}
        fits = f"this fit differs from that of {first}"
        if statistics.is_ranking:
            meanings = {CLEAR: "best: all others are clearly behind", TIED: "tied for best: none is clearly better"}
            fits = "best of these fits: all others are clearly behind"
        for mark, meaning in meanings.items():
            if mark in marks:
                yield f"{mark}  {meaning}: {after}"
        if f"({CLEAR})" in marks:
            yield f"({CLEAR})  {fits}, perhaps only because of the seeds: {after}"
        if f"({TIED})" in marks:
            yield f"({TIED})  no fit is clearly better than this one, as fits: {after}"
        for warning, letter in self.letters.items():
            yield f"{letter}  {warning}"
