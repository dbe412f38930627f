"""Equivalence within a margin: what is claimed of systems whose true difference is the margin, or nothing."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchrunner import ACCURACY
from benchrunner.io.json_form import as_json
from benchrunner.studies.pairs import Comparison, Pair
from benchrunner_statistics import paired_test
from benchrunner_statistics.differences import agreeing, corrected_differences
from benchrunner_statistics.paired_tests import Side
from benchrunner_statistics.scored_answers import ScoredAnswers

MARGIN = 0.04


def drawn(draw: np.random.Generator, gain: float, restarts: int, rows: int) -> tuple[Any, Any]:
    """Draw answers of two systems, 1 where right. The first is right more often by `gain`, over all rows and seeds."""
    of_rows = draw.choice([0.6, 0.85], rows)
    quality = draw.normal(0, 0.005 if restarts > 1 else 0, (2, restarts, 1)) + np.array([gain, 0]).reshape(2, 1, 1)
    a, b = (draw.random((2, restarts, rows)) < of_rows + quality).astype(int)
    return a, b


def claims(count: int, gain: float, restarts: int, *, rows: int = 300) -> float:
    """Return the share of simulated studies that claim equivalence."""
    hits = 0
    for number in range(count):
        a, b = drawn(np.random.default_rng([number, restarts]), gain, restarts, rows)
        hits += paired_test("accuracy", [1] * rows, a.tolist(), b.tolist()).is_equivalent(MARGIN)
    return hits / count


@pytest.mark.parametrize(("gain", "restarts"), [(MARGIN, 1), (-MARGIN, 3)])
def test_a_difference_of_the_margin_is_rarely_equivalent(gain: float, restarts: int) -> None:
    assert claims(120, gain, restarts, rows=1200) <= 0.05


@pytest.mark.parametrize(("rows", "share", "tests"), [(300, 0.05, 1), (872, 0.02, 1), (872, 0.05, 8)])
def test_one_sided_disagreement_keeps_the_level(rows: int, share: float, tests: int) -> None:
    """Where one fit wins every row with different answers, the interval is narrowest: all cases, with binomials."""
    probability = 0.0
    for wins in range(1, round(rows * share)):
        other = [0] * wins + [1] * (rows - wins)
        comparison = paired_test("accuracy", [1] * rows, [[1] * rows], [other], confidence=1 - 0.05 / tests)
        if comparison.is_equivalent(share):
            probability += stats.binom.pmf(wins, rows, share)
    assert 0 < tests * probability <= (0.05 if tests == 1 else 0.055)


@pytest.mark.parametrize("restarts", [1, 3])
def test_more_rows_show_equivalence_more_often(restarts: int) -> None:
    few, more, many = (claims(20, 0.0, restarts, rows=rows) for rows in (300, 1_200, 4_800))
    assert few < more < many
    assert many >= 0.8


def families(count: int) -> Iterator[Sequence[Pair]]:
    """Draw studies of eight systems that are all better than the first by the margin."""
    for number in range(count):
        draw = np.random.default_rng(number)
        scored = {}
        for system in ("first", *"abcdefgh"):
            answers = draw.random(600) < (0.7 if system == "first" else 0.78)
            scored[system] = Side.of_restarts([ScoredAnswers(ACCURACY, [True] * 600, answers.tolist())])
        tests, _ = corrected_differences(scored, [(system, "first") for system in "abcdefgh"])
        yield tuple(tests.values())


def test_no_false_claim_in_a_family_of_eight() -> None:
    false_claims = [any(test.comparison.is_equivalent(0.08) for test in tests) for tests in families(30)]
    assert sum(false_claims) <= 2


def test_equivalence_is_two_one_sided_tests() -> None:
    """Without a part of the rows but that of SciPy: a paired t-test of the rows against each end of the margin."""
    draw = np.random.default_rng(0)
    a, b = (draw.random((2, 400)) < 0.7).astype(int)
    comparison = paired_test("accuracy", [1] * 400, [a.tolist()], [b.tolist()])
    freedom = (a != b).sum() - 1
    error = (a - b).std(ddof=1) / 20
    for margin in (0.02, 0.05, 0.06, 0.07, 0.08, 0.1, 0.12):
        sides = [(margin - comparison.difference) / error, (margin + comparison.difference) / error]
        assert comparison.is_equivalent(margin) == (max(stats.t.sf(sides, freedom)) <= 0.025)


def test_equal_answers_are_equivalent_within_any_margin() -> None:
    comparison = paired_test("accuracy", [1, 0], [[1, 1]], [[1, 1]])
    assert comparison.is_equivalent(1e-9) and comparison.method == "equal answers"


@pytest.mark.parametrize(("low", "high", "claimed"), [(-0.02, 0.03, True), (-0.05, 0.01, False), (0.01, 0.05, False)])
def test_the_whole_interval_lies_within_the_margin(low: float, high: float, claimed: bool) -> None:
    comparison = Comparison((low + high) / 2, low, high, 0.5, "fits", "rows", 100, (1, 1))
    assert comparison.is_equivalent(MARGIN) == claimed


@pytest.mark.parametrize(("is_clear", "ends"), [(True, (0.0, 3.0)), (False, (-1.0, 3.0))])
def test_an_interval_agrees_with_its_mark(is_clear: bool, ends: tuple[float, float]) -> None:
    wide = Comparison(1.0, -1.0, 3.0, 0.02, "fits", "rows", 9, (1, 1))
    shown = agreeing(wide, is_clear=is_clear)
    assert (shown.low, shown.high) == ends
    mirrored = agreeing(wide.reversed, is_clear=is_clear)
    assert (mirrored.low, mirrored.high) == (-ends[1], -ends[0])


def test_what_is_detectable_is_said_where_a_fit_has_learned() -> None:
    made = Comparison(1.0, -1.0, 3.0, 0.02, "fits", "rows", 9, (1, 1), detectable=2.0)
    assert as_json(Pair(made, 0.02))["detectable"] == 2.0
    assert as_json(Pair(made, 0.02, has_learned=False))["detectable"] is None
