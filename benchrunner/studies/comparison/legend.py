"""The legend of a table: what its marks and codes mean."""

from __future__ import annotations

from collections.abc import Iterator

from benchrunner.studies.codes import WARNINGS, code_of
from benchrunner.studies.entries import CLEAR, TIED
from benchrunner.studies.result import Result


def legend(result: Result) -> Iterator[str]:
    """Yield a line for each mark and code that is used, and for the codes of what may reverse the conclusion."""
    statistics = result.statistics
    marks = {entry.mark for entry in result.entries.values()}
    others = {other for _, other, _ in statistics.tests}
    first = others.pop() if len(others) == 1 else "the system that it is compared with above"
    count = statistics.family
    looks = f" and {len(result.study.looks)} looks" if result.study.looks else ""
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
    used = set(map(code_of, statistics.caveats))
    for entry in result.entries.values():
        used.update(entry.codes)
    for warning in WARNINGS:
        if warning.code in used:
            yield f"{warning.code}  {warning.short}"
