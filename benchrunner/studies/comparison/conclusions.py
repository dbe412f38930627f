"""The conclusion of a comparison in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from benchrunner.studies.study import Result
from benchrunner.studies.study_statistics import BackboneDifference, StudyStatistics
from benchrunner.tasks.suites import Term

SHOWN = 3
"""Number of differences that a conclusion names for two backbones. With more backbones it names one for each."""


def conclusion(result: Result, statistics: StudyStatistics) -> str:
    """Say in one sentence for each further backbone on which tasks it is better or worse than the first.

    Empty if the study has a single backbone.
    """
    first, *others = result.study.names
    scales = _scales(result)
    sentences = []
    for backbone in others:
        tests = [
            Tested(term.task, scales[term], test) for (name, term), test in statistics.tests.items() if name == backbone
        ]
        sentences.append(sentence(backbone, first, tests, shown=SHOWN if len(others) == 1 else 1))
    if not others:
        return ""
    return " ".join(sentences) + caution(statistics.tests.values())


def caution(tests: Iterable[BackboneDifference]) -> str:
    """Say that other seeds may reverse the conclusion, if any test is of single fits; else nothing."""
    if not any(test.comparison.claim == "fits" for test in tests):
        return ""
    return " With one restart this is about these fits: other seeds may reverse it, so give --restarts 3 or more."


def _scales(result: Result) -> dict[Term, float]:
    return {
        Term(task.name, split, metric.name): metric.scale
        for task in result.study.tasks
        for split in task.named("dev")
        for metric in task.metrics
    }


@final
@dataclass(frozen=True)
class Tested:
    """A test with what a sentence needs to name it."""

    name: str
    """Name of the task, or of the column of a study file."""
    scale: float
    """See `Metric.scale`."""
    test: BackboneDifference

    @property
    def difference(self) -> float:
        """The difference in points, as tables show it."""
        return self.test.comparison.difference * self.scale

    def __str__(self) -> str:
        low, high = self.test.comparison.low * self.scale, self.test.comparison.high * self.scale
        return f"{self.name} {self.difference:+.1f}, 95 % interval {low:+.1f} to {high:+.1f}"


def sentence(backbone: str, first: str, tests: Sequence[Tested], *, shown: int, of: str = "task") -> str:
    """Say where a backbone is better or worse than the first; `shown` is the number of differences that are named.

    `of` is the word for what the tests are of.
    """
    if not tests:
        return f"Nothing is known about a difference between {backbone} and {first}: no figure could be tested."
    clear = [tested for tested in tests if tested.test.is_clear]
    better = [tested for tested in clear if tested.difference > 0]
    worse = [tested for tested in clear if tested.difference < 0]
    count = f"{len(tests)} {of}{'s' * (len(tests) > 1)}"
    if not clear:
        return f"No clear difference between {backbone} and {first} on {count} ({_named(tests, shown)})."
    if len(tests) == 1:
        return f"{backbone} is {'better' if better else 'worse'} than {first} ({_named(tests, shown)})."
    directions = ((f"better than {first}", better), ("worse" if better else f"worse than {first}", worse))
    parts = [f"{word} on {len(named)} ({_named(named, shown)})" for word, named in directions if named]
    unclear = len(tests) - len(clear)
    rest = f"; on the other {unclear} the difference may be chance" if unclear else ""
    return f"Of {count}, {backbone} is {' and '.join(parts)}{rest}."


def _named(tests: Sequence[Tested], shown: int) -> str:
    """Name the largest differences, with their intervals."""
    ordered = sorted(tests, key=lambda tested: -abs(tested.difference))
    return "; ".join([*map(str, ordered[:shown]), *["..."] * (len(ordered) > shown)])
