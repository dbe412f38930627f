"""Conclusions of a study in sentences: which system is better or worse, and which are equivalent."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from benchrunner.studies.comparison.codes import coded
from benchrunner.studies.comparison.verdict import listed, seen_from, verdict
from benchrunner.studies.result import Result
from benchrunner.studies.significance.differences import SystemDifference

K = TypeVar("K")
LINE = 98
"""Characters of a line below a table, after its indentation."""
SHOWN = 3
"""Number of differences that a sentence names. With three or more systems and tasks down it names one for each."""


def conclusions(result: Result) -> list[str]:
    """Say which systems are best, or where a system is better or worse than another.

    Further sentences say which systems are equivalent, if the study has a margin. The last ones follow where other
    seeds may reverse the conclusion. Empty if nothing was tested.
    """
    return [*_sentences(result, SHOWN), *caveats(result)] if result.statistics.tests else []


def headline(result: Result, lines: int) -> str:
    """Say the conclusion with as many figures as fit into so many lines, or its first sentence; empty without tests."""
    if not result.statistics.tests:
        return ""
    for shown in (SHOWN, 1, 0):
        first, *others = sentences = _sentences(result, shown)
        said = " ".join(sentences)
        if line_count([said]) <= lines:
            return said
    return f"{first} ({len(others)} more)" if others else first


def _sentences(result: Result, shown: int) -> list[str]:
    """Say who is best, or how each two systems differ; `shown` is the number of differences that are named."""
    if result.statistics.is_ranking:
        return [*verdict(result, with_figures=shown > 0), *_equivalences(result)]
    return _of_pairs(result, shown)


def _of_pairs(result: Result, shown: int) -> list[str]:
    """Say how the systems of each pair differ, clear differences first, and where they are equivalent."""
    study = result.study
    pairs = result.statistics.by_pair()
    if not study.systems_down and not study.contrasts and not study.lines:
        for system in study.names[1:]:
            pairs.setdefault((system, study.names[0]), {})
    if not study.systems_down and len(study.names) > 2:
        shown = min(shown, 1)
    ordered = sorted(pairs, key=lambda pair: not any(test.is_clear for test in pairs[pair].values()))
    sentences = [_sentence(result, *pair, pairs[pair], shown=shown) for pair in ordered]
    return [*sentences, *_equivalences(result)]


def caveats(result: Result) -> Iterator[str]:
    """Say where other seeds, of fits or of pre-trainings, may reverse the conclusion."""
    study, tests = result.study, result.statistics.tests
    if any(test.comparison.claim == "fits" for test in tests.values()):
        yield coded("With one restart this is about these fits: other seeds may reverse it, so give --restarts 3.")
    compared = {name for system, other, _ in tests for name in (system, other)}
    alone = [arm for arm, systems in study.arms.items() if len(systems) == 1 and arm in compared]
    if alone:
        named = listed(alone, " and of ")
        yield coded(f"With one pre-training of {named} this is about that pre-training: others may reverse it.")


def line_count(sentences: Iterable[str]) -> int:
    """Count the lines that sentences fill below a table."""
    return sum(len(textwrap.wrap(sentence, LINE)) for sentence in sentences)


def _sentence(result: Result, system: str, first: str, tests: Mapping[str, SystemDifference], *, shown: int) -> str:
    """Say where a system is better or worse than the first; `shown` is the number of differences that are named."""
    if not tests:
        return f"Nothing is known about a difference between {system} and {first}: no figure could be tested."
    better = {}
    worse = {}
    every = {}
    for column in result.study.columns:
        if column.name in tests:
            test, scale = tests[column.name], result.figures[system, column.name].scale
            difference = test.comparison.difference * scale
            name = _named(result.study.title_of(column), test, scale)
            every[name] = difference
            if test.is_clear and test.comparison.gain > 0:
                better[name] = difference
            elif test.is_clear:
                worse[name] = difference
    kind = result.study.column_kind
    count = f"{len(tests)} {kind}{'s' * (len(tests) > 1)}"
    if not better and not worse:
        return f"No clear difference between {system} and {first} on {count}{_largest(every, shown)}."
    if len(tests) == 1:
        return f"{system} is {'better' if better else 'worse'} than {first}{_largest(every, shown)}."
    parts = []
    if better:
        parts.append(f"better than {first} on {len(better)}{_largest(better, shown)}")
    if worse:
        than = "worse" if better else f"worse than {first}"
        parts.append(f"{than} on {len(worse)}{_largest(worse, shown)}")
    unclear = len(tests) - len(better) - len(worse)
    rest = f"; on the other {unclear} the difference may be chance" if unclear else ""
    return f"Of {count}, {system} is {' and '.join(parts)}{rest}."


def _equivalences(result: Result) -> Iterator[str]:
    """Say which systems are equivalent within the study's margin, and on which columns."""
    margin = result.study.margin
    if margin is None:
        return
    within = f"quivalent within {margin:g} point{'s' * (margin != 1)}"
    said = []
    for (system, other), tests in result.statistics.by_pair().items():
        for column in result.study.columns:
            test = tests.get(column.name)
            if test is None:
                continue
            statement, place = f"Not shown to be e{within}", f"{system} and {other} on {result.study.title_of(column)}"
            if not test.comparison.parts:
                statement = "Equal in all answers, which shows nothing about other rows"
            elif test.is_equivalent:
                statement = f"E{within}"
                place += f" (interval {_interval(test, result.figures[system, column.name].scale)})"
            said.append((statement, place))
    for statement, places in grouped(said).items():
        yield f"{statement}: {listed(places, '; ')}."


def _interval(test: SystemDifference, scale: float) -> str:
    """Write the interval of a difference, in points as tables show it."""
    return f"{test.comparison.low * scale:+.1f} to {test.comparison.high * scale:+.1f}"


def _named(title: str, test: SystemDifference, scale: float) -> str:
    """Write a difference with its interval, in points as tables show it."""
    paired = test.comparison
    if not paired.parts:
        return f"{title}: all answers are equal"
    said = f"{title} {paired.difference * scale:+.1f}, 95 % interval {_interval(test, scale)}"
    return said if test.is_clear else f"{said}; {seen_from(test.detectable * scale)}"


def _largest(differences: Mapping[str, float], shown: int) -> str:
    """Join the largest differences in parentheses."""
    ordered = sorted(differences, key=lambda text: abs(differences[text]), reverse=True)
    if len(ordered) > shown:
        ordered[shown:] = ["..."]
    return f" ({'; '.join(ordered)})" if shown else ""


def grouped(pairs: Iterable[tuple[K, str]]) -> dict[K, list[str]]:
    """Map what is said to the different names that it is said about."""
    groups = dict[K, list[str]]()
    for said, name in pairs:
        names = groups.setdefault(said, [])
        if name not in names:
            names.append(name)
    return groups
