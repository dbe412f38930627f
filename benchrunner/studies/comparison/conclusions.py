"""The conclusion of a comparison in words."""

from __future__ import annotations

from collections.abc import Mapping

from benchrunner.studies.study import Result
from benchrunner.studies.study_statistics import BackboneDifference, StudyStatistics
from benchrunner.tasks.suites import Term

SHOWN = 3
"""Number of differences that a conclusion names for two backbones. With more backbones it names one for each."""


def conclusion(result: Result, statistics: StudyStatistics) -> str:
    """Say in one sentence for each further backbone on which tasks it is better or worse than the first.

    Empty if the study has a single backbone.
    """
    first, *others = result.study.backbones
    scales = _scales(result)
    sentences = []
    for backbone in others:
        tests = {term: test for (name, term), test in statistics.tests.items() if name == backbone}
        sentences.append(_sentence(backbone, first, tests, scales, SHOWN if len(others) == 1 else 1))
    if not others:
        return ""
    fits = any(test.comparison.claim == "fits" for test in statistics.tests.values())
    caution = " With one restart this is about these fits: other seeds may reverse it, so give --restarts 3 or more."
    return " ".join(sentences) + caution * fits


def _scales(result: Result) -> dict[Term, float]:
    return {
        Term(task.name, split, metric.name): metric.scale
        for task in result.study.tasks
        for split in task.named("dev")
        for metric in task.metrics
    }


def _sentence(
    backbone: str, first: str, tests: Mapping[Term, BackboneDifference], scales: Mapping[Term, float], shown: int
) -> str:
    if not tests:
        return f"Nothing is known about a difference between {backbone} and {first}: no figure could be tested."
    clear = {term: test for term, test in tests.items() if test.is_clear}
    better = {term: test for term, test in clear.items() if test.comparison.difference > 0}
    worse = {term: test for term, test in clear.items() if test.comparison.difference < 0}
    count = f"{len(tests)} task{'s' * (len(tests) > 1)}"
    if not clear:
        return f"No clear difference between {backbone} and {first} on {count} ({_named(tests, scales, shown)})."
    parts = [
        f"{word} on {len(terms)} ({_named(terms, scales, shown)})"
        for word, terms in ((f"better than {first}", better), ("worse" if better else f"worse than {first}", worse))
        if terms
    ]
    unclear = len(tests) - len(clear)
    if len(tests) == 1:
        word = "better" if better else "worse"
        return f"{backbone} is {word} than {first} ({_named(tests, scales, shown)})."
    rest = f"; on the other {unclear} the difference may be chance" if unclear else ""
    return f"Of {count}, {backbone} is {' and '.join(parts)}{rest}."


def _named(tests: Mapping[Term, BackboneDifference], scales: Mapping[Term, float], shown: int) -> str:
    """Name the largest differences, with their intervals."""
    ordered = sorted(tests.items(), key=lambda pair: -abs(pair[1].comparison.difference * scales[pair[0]]))
    names = [
        f"{term.task} {_points(test.comparison.difference, scales[term])}, 95 % interval "
        f"{_points(test.comparison.low, scales[term])} to {_points(test.comparison.high, scales[term])}"
        for term, test in ordered[:shown]
    ]
    return "; ".join([*names, *["..."] * (len(ordered) > shown)])


def _points(value: float, scale: float) -> str:
    return f"{value * scale:+.1f}"
