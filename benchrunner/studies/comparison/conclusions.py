"""The conclusion of a comparison in words."""

from __future__ import annotations

from collections.abc import Mapping

from benchrunner.studies.result import Result
from benchrunner.studies.study_statistics import SystemDifference

SHOWN = 3
"""Number of differences that a conclusion names. With three or more systems and tasks down it names one for each."""


def conclusions(result: Result) -> list[str]:
    """Say for each system, in one sentence, where it is better or worse than the system that it is compared with.

    Empty if the study has a single system. A last sentence follows where other seeds may reverse the conclusion.
    """
    study, pairs = result.study, result.statistics.by_pair()
    if not study.systems_down and len(study.names) > 1 and pairs:
        for system in study.names[1:]:
            pairs.setdefault((system, study.names[0]), {})
    shown = SHOWN if study.systems_down or len(study.names) == 2 else 1
    sentences = [_sentence(result, *pair, tests, shown=shown) for pair, tests in pairs.items()]
    if any(test.comparison.claim == "fits" for test in result.statistics.tests.values()):
        sentences.append(
            "With one restart this is about these fits: other seeds may reverse it, so give --restarts 3 or more."
        )
    return sentences


def _sentence(result: Result, system: str, first: str, tests: Mapping[str, SystemDifference], *, shown: int) -> str:
    """Say where a system is better or worse than the first; `shown` is the number of differences that are named."""
    if not tests:
        return f"Nothing is known about a difference between {system} and {first}: no figure could be tested."
    better, worse, every = dict[str, float](), dict[str, float](), dict[str, float]()
    for column, test in tests.items():
        difference = test.comparison.difference * result.figures[system, column].scale
        every[_named(result, system, column, test)] = difference
        if test.is_clear and difference:
            side = better if difference > 0 else worse
            side[_named(result, system, column, test)] = difference
    kind = "column" if result.study.systems_down else "task"
    count = f"{len(tests)} {kind}{'s' * (len(tests) > 1)}"
    if not better and not worse:
        return f"No clear difference between {system} and {first} on {count} ({_largest(every, shown)})."
    if len(tests) == 1:
        return f"{system} is {'better' if better else 'worse'} than {first} ({_largest(every, shown)})."
    parts = []
    if better:
        parts.append(f"better than {first} on {len(better)} ({_largest(better, shown)})")
    if worse:
        than = "worse" if better else f"worse than {first}"
        parts.append(f"{than} on {len(worse)} ({_largest(worse, shown)})")
    unclear = len(tests) - len(better) - len(worse)
    rest = f"; on the other {unclear} the difference may be chance" if unclear else ""
    return f"Of {count}, {system} is {' and '.join(parts)}{rest}."


def _named(result: Result, system: str, column: str, test: SystemDifference) -> str:
    """Write a difference with its interval, in points as tables show it."""
    scale = result.figures[system, column].scale
    title = next(known.title for known in result.study.columns if known.name == column)
    paired = test.comparison
    low, high = paired.low * scale, paired.high * scale
    return f"{title} {paired.difference * scale:+.1f}, 95 % interval {low:+.1f} to {high:+.1f}"


def _largest(differences: Mapping[str, float], shown: int) -> str:
    """Join the largest differences."""
    ordered = sorted(differences, key=lambda text: -abs(differences[text]))
    return "; ".join([*ordered[:shown], *["..."] * (len(ordered) > shown)])
