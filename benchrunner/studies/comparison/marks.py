"""Marks of the cells of a table, each with a line of the legend that explains it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from benchrunner.studies.cells import NO_SCORE
from benchrunner.studies.comparison.codes import WARNINGS, code_of
from benchrunner.studies.comparison.conclusions import caveats
from benchrunner.studies.result import Result
from benchrunner.studies.significance.study_statistics import CLEAR, TIED
from benchrunner.studies.study import Place


@final
@dataclass(frozen=True)
class Marks:
    """The marks of clear differences, and the codes of warnings."""

    result: Result

    def of_place(self, place: Place) -> str:
        """Return the marks of one figure."""
        return " ".join([self.result.statistics.mark(place), *self._codes(place)]).strip()

    def _codes(self, place: Place) -> list[str]:
        """Return the codes of the warnings about one figure."""
        cell = self.result.cell_at.get(place)
        texts = set(cell.warnings) if cell else set[str]()
        texts.discard(NO_SCORE)  # it may be the score of another metric
        if self.result.figures[place].mean.value is None:
            texts.add(NO_SCORE)
        return sorted(set(map(code_of, texts)))

    def legend(self) -> Iterator[str]:
        """Yield a line for each mark and code that is used, and for the codes of what may reverse the conclusion."""
        statistics = self.result.statistics
        marks = {statistics.mark(place) for place in self.result.figures}
        others = {other for _, other, _ in statistics.tests}
        first = others.pop() if len(others) == 1 else "the system that it is compared with above"
        count = statistics.family
        looks = f" and {len(self.result.study.looks)} looks" if self.result.study.looks else ""
        after = f" (p < 0.05, corrected for {count} test{'s' * (count > 1)}{looks})"
        meanings = {CLEAR: f"differs from {first}", f"({CLEAR})": f"differs from {first} as a fit"}
        if statistics.is_ranking:
            meanings = {
                CLEAR: "best, all others clearly behind",
                TIED: "tied for best",
                f"({CLEAR})": "best of these fits, all others clearly behind",
                f"({TIED})": "tied for best of these fits",
            }
        for mark, meaning in meanings.items():
            if mark in marks:
                yield f"{mark}  {meaning}{after}"
                after = ""
        used = set(map(code_of, caveats(self.result)))
        for place in self.result.figures:
            used.update(self._codes(place))
        for warning in WARNINGS:
            if warning.code in used:
                yield f"{warning.code}  {warning.short}"
