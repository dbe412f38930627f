"""Crossings of curves: against a test at every place, by hand, and in simulated studies whose crossing is known."""

import importlib
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import t

from benchrunner import ACCURACY
from benchrunner.statistics.crossings import Stretch, crossings
from benchrunner.statistics.paired_test import Side
from benchrunner.statistics.scored_answers import ScoredAnswers

PLACES = (16.0, 64.0, 256.0)
ROWS = 60


def drawn(seed: int, *, restarts: int = 4, gain: tuple[float, ...] = (-0.6, 0.1, 0.7)) -> list[np.ndarray]:
    """Draw the right answers of two systems, (places, restarts, rows) each; the gain is the second's."""
    draw = np.random.default_rng(seed)
    hard, samples = draw.normal(0, 1, ROWS), draw.normal(0, 0.3, (len(PLACES), restarts, 1))
    systems = []
    for more in (np.zeros(len(PLACES)), np.array(gain)):
        noise = draw.normal(0, 0.5, (len(PLACES), restarts, ROWS))
        systems.append((hard + samples + noise + more[:, None, None] > 0).astype(int))
    return systems


def sides(right: np.ndarray) -> list[Side]:
    made = []
    for place in right:
        restarts = [ScoredAnswers(ACCURACY, [1] * ROWS, answers.tolist()) for answers in place]
        made.append(Side.of_restarts(restarts))
    return made


def is_clear(theirs: np.ndarray, ours: np.ndarray, place: float, freedom: int) -> bool:
    """Test a place as `paired_test` would test one system, the difference, against nothing."""
    after = next(number for number in range(1, len(PLACES)) if place <= PLACES[number])
    share = math.log(place / PLACES[after - 1]) / math.log(PLACES[after] / PLACES[after - 1])
    differences = ours - theirs
    values = (1 - share) * differences[after - 1] + share * differences[after]  # (restarts, rows)
    scores = values.mean(axis=1)
    rest = values - values.mean(axis=0) - scores[:, None] + values.mean()
    interaction = (rest**2).sum() / ((len(scores) - 1) * (ROWS - 1)) / values.size
    of_rows = max(0.0, values.mean(axis=0).var(ddof=1) / ROWS - interaction)
    of_draws = scores.var(ddof=1) / len(scores)
    quantiles = t.ppf(0.975, freedom), t.ppf(0.975, len(scores) - 1)
    return bool(scores.mean() ** 2 > quantiles[0] ** 2 * of_rows + quantiles[1] ** 2 * of_draws)


@pytest.mark.parametrize("seed", range(6))
def test_stretches_are_the_places_without_a_clear_difference(seed: int) -> None:
    theirs, ours = drawn(seed)
    found = crossings(PLACES, sides(ours), sides(theirs))
    answers = np.concatenate([theirs, ours]).reshape(-1, ROWS)
    freedom = int((answers != answers[0]).any(axis=0).sum()) - 1
    ends = [end for stretch in found.stretches for end in (stretch.low, stretch.high)]
    for place in np.geomspace(PLACES[0], PLACES[-1], 61).tolist()[1:-1]:
        if min(abs(math.log(place / end)) for end in ends) > 0.02:
            inside = any(stretch.low <= place <= stretch.high for stretch in found.stretches)
            assert inside != is_clear(theirs, ours, place, freedom), place


def test_the_means_cross_where_their_lines_do() -> None:
    """The difference is -2 at 16 rows and +1 at 64: it is 0 at two thirds of the way on the logarithmic axis."""
    theirs, ours = np.ones((2, 3, 6), int), np.ones((2, 3, 6), int)
    ours[0, :, :2] = 0
    theirs[1, :, 3] = 0
    made = [[Side.of_restarts(ScoredAnswers(ACCURACY, [1] * 6, row.tolist()) for row in place) for place in side]
            for side in (ours, theirs)]  # fmt: skip
    found = crossings((16.0, 64.0), *made)
    (crossed,) = [stretch for stretch in found.stretches if stretch.at is not None]
    assert crossed.at == pytest.approx(16 * 4 ** (2 / 3), rel=0.01) and crossed.is_rise
    assert (found.first, found.last, found.confidence) == (16.0, 64.0, 0.95)
    turned = crossings((16.0, 64.0), *reversed(made))
    assert [stretch.is_rise for stretch in turned.stretches if stretch.at is not None] == [False]


def test_two_restarts_have_a_crossing_without_an_interval() -> None:
    theirs, ours = (sides(side[:, :2]) for side in drawn(1, gain=(-1.5, 1.5, 1.5)))
    found = crossings(PLACES, ours, theirs)
    assert found.confidence is None and [stretch.is_rise for stretch in found.stretches] == [True]


def test_equal_answers_are_clear_nowhere_and_never_cross() -> None:
    theirs, _ = drawn(2)
    same = sides(theirs)
    assert crossings(PLACES, same, same).stretches == (Stretch(16.0, 256.0),)


def test_equal_beginnings_are_no_crossing() -> None:
    """At 16 rows both answer alike, as two fits do that learned nothing."""
    theirs, ours = drawn(3, gain=(0.0, 2.5, 2.5))
    ours[0] = theirs[0]
    found = crossings(PLACES, sides(ours), sides(theirs))
    assert [stretch.at for stretch in found.stretches] == [None] and found.stretches[0].low == 16.0


def test_a_smaller_alpha_gives_a_longer_stretch() -> None:
    theirs, ours = (sides(side) for side in drawn(4, gain=(-2.0, 0.1, 2.0)))
    (one,), (other,) = (crossings(PLACES, ours, theirs, alpha=alpha).stretches for alpha in (0.05, 0.01))
    assert other.low < one.low < one.high < other.high


@pytest.fixture
def statistics_curves(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("statistics_curves")


@pytest.mark.parametrize("title", ["200 rows", "20 clusters of 25"])
def test_the_simulation_finds_the_same_stretches(title: str, statistics_curves: ModuleType) -> None:
    design = next(design for design in statistics_curves.DESIGNS if design.title == title)
    (study,) = statistics_curves.drawn(design, 4, 1)
    clusters = study.clusters if design.cluster > 1 else None
    made = []
    for system in study.right:
        points = []
        for place in system.astype(int).tolist():
            answers = [ScoredAnswers(ACCURACY, [1] * design.rows, restart, clusters) for restart in place]
            points.append(Side.of_restarts(answers))
        made.append(points)
    expected = statistics_curves.found(study)
    found = crossings(statistics_curves.PLACES, made[1], made[0])
    assert len(found.stretches) == len(expected.stretches)
    for stretch, other in zip(found.stretches, expected.stretches, strict=True):
        assert (stretch.low, stretch.high) == pytest.approx((other.low, other.high))
        assert (stretch.at or 0, stretch.is_rise) == (pytest.approx(other.at or 0, rel=0.015), other.is_rise)


@pytest.mark.slow
@pytest.mark.parametrize("restarts", [3, 5])
def test_intervals_hold_the_crossing_of_simulated_studies(restarts: int, statistics_curves: ModuleType) -> None:
    for design in statistics_curves.DESIGNS[:5]:
        true = statistics_curves.truth(design)
        said = [statistics_curves.outcome(study, true) for study in statistics_curves.drawn(design, restarts, 300)]
        assert sum(outcome.holds for outcome in said) >= 277, design.title  # 95 % less two standard errors
