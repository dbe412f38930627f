"""Conclusions of a study in sentences: which system is better or worse, and which are equivalent."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from benchrunner.studies.comparison.verdict import listed, seen_from, verdict
from benchrunner.studies.result import Result
from benchrunner.studies.significance.differences import Pairing, SystemDifference

K = TypeVar("K")
LINES, LINE = 8, 100
"""Lines of a conclusion at most, and the characters of each."""
SHOWN = 3
"""Number of differences that a sentence names. With three or more systems and tasks down it names one for each."""


def conclusions(result: Result) -> list[str]:
    """Say in eight lines at most which systems are best, or where a system is better or worse than another.

    Further sentences say which systems are equivalent, if the study has a margin. The last ones follow where other
    seeds may reverse the conclusion. Empty if nothing was tested.
    """
    if not result.statistics.tests:
        return []
    caveats = _fitted(list(_caveats(result)), LINES - 1)
    room = LINES - _lines(caveats)
    if result.statistics.is_ranking:
        sentences = [*verdict(result), *_equivalences(result)]
    else:
        sentences = [*overtaking(result), *_of_pairs(result, room)]
    return [*_fitted(sentences, room), *caveats]


def overtaking(result: Result) -> Iterator[str]:
    """Say where one of two series overtakes the other: between two places at which first one, then the other is better.

    Both differences are clear. Nothing is said of means that cross where the differences may be chance.
    """
    study = result.study
    for column in study.columns:
        for pair in study.pairs:
            leader, since = "", ""
            for at, system, other in study.points(*pair):
                test = result.statistics.tests.get(Pairing(system, other, column.name))
                if test is None or not test.is_clear:
                    continue
                ahead, behind = pair if test.comparison.gain > 0 else pair[::-1]
                place = f"{study.place(at, result.cell_at[system, column.name].cell):,.0f}"
                if leader == behind:
                    places = f"between {since} and {place} {study.axis}"
                    yield f"{study.title_of(column)}: {ahead} overtakes {behind} {places}."
                leader, since = ahead, place


def _of_pairs(result: Result, lines: int) -> list[str]:
    """Say how the systems of each pair differ, and where they are equivalent.

    If this does not fit into so many lines, the pairs without clear differences come last.
    """
    study = result.study
    pairs = result.statistics.by_pair()
    if not study.systems_down and not study.contrasts and not study.lines:
        for system in study.names[1:]:
            pairs.setdefault((system, study.names[0]), {})
    shown = SHOWN if study.systems_down or len(study.names) == 2 else 1
    differences = []
    equivalences = list(_equivalences(result))
    unclear = list[str]()
    for (system, other), tests in pairs.items():
        sentence = _sentence(result, system, other, tests, shown=shown)
        differences.append(sentence)
        if not any(test.is_clear for test in tests.values()):
            unclear.append(sentence)
    sentences = [*differences, *equivalences]
    if _lines(sentences) > lines:
        clear = [sentence for sentence in differences if sentence not in unclear]
        sentences = [*clear, *equivalences, *unclear]
    return sentences


def _caveats(result: Result) -> Iterator[str]:
    """Say where other seeds, of fits or of pre-trainings, may reverse the conclusion."""
    study, tests = result.study, result.statistics.tests
    if any(test.comparison.claim == "fits" for test in tests.values()):
        yield "With one restart this is about these fits: other seeds may reverse it, so give --restarts 3 or more."
    compared = {name for system, other, _ in tests for name in (system, other)}
    alone = [arm for arm, systems in study.arms.items() if len(systems) == 1 and arm in compared]
    if alone:
        named = listed(alone, " and of ")
        yield f"With one pre-training of {named} this is about that pre-training: others may reverse it."


def _fitted(sentences: Sequence[str], lines: int) -> list[str]:
    """Return as many sentences as fit into a number of lines; a last one says where the others are."""
    if _lines(sentences) <= lines:
        return list(sentences)
    fitting = list[str]()
    for sentence in sentences:
        if _lines([*fitting, sentence]) >= lines:
            break
        fitting.append(sentence)
    left_out = len(sentences) - len(fitting)
    return [*fitting, f"For {left_out} more sentences there is no room here: --format json has every test."]


def _lines(sentences: Iterable[str]) -> int:
    """Count the lines that sentences fill."""
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
    """Join the largest differences."""
    ordered = sorted(differences, key=lambda text: abs(differences[text]), reverse=True)
    if len(ordered) > shown:
        ordered[shown:] = ["..."]
    return "; ".join(ordered)


def grouped(pairs: Iterable[tuple[K, str]]) -> dict[K, list[str]]:
    """Map what is said to the different names that it is said about."""
    groups = dict[K, list[str]]()
    for said, name in pairs:
        names = groups.setdefault(said, [])
        if name not in names:
            names.append(name)
    return groups
