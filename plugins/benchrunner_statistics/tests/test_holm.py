"""Holm's correction, worked by hand, and corrections for several looks at growing data."""

import numpy as np
import pytest

from benchrunner_statistics.corrections import directional, over_looks


def test_adjusted_p_values_by_hand() -> None:
    """0.01 * 4; 0.02 * 3; 0.03 * 2 = 0.06 as well; 0.04 * 1 is raised to 0.06."""
    p_values = {("a", "A"): 0.04, ("b", "B"): 0.01, ("c", "C"): 0.03, ("d", "D"): 0.02}
    assert list(directional(p_values).items()) == [
        (("a", "A"), pytest.approx(0.06)),
        (("b", "B"), pytest.approx(0.04)),
        (("c", "C"), pytest.approx(0.06)),
        (("d", "D"), pytest.approx(0.06)),
    ]


def test_adjusted_p_values_are_at_most_one() -> None:
    assert directional({("a", "A"): 0.9, ("b", "B"): 0.6}) == {("a", "A"): 1.0, ("b", "B"): 1.0}
    assert directional({}) == {}


def test_one_test_at_several_looks_by_hand() -> None:
    pair = ("a", "b")
    looks = [{pair: 0.02}, {pair: 0.011}, {pair: 0.5}]
    assert over_looks(looks, (0.25, 0.25, 0.5), 0.05) == {pair: (1, pytest.approx(0.044))}
    assert over_looks(looks[:1] * 3, (0.25, 0.25, 0.5), 0.05) == {pair: (2, pytest.approx(0.04))}


def test_a_clear_test_frees_its_level_at_later_looks() -> None:
    clear, other = ("a", "b"), ("c", "d")
    looks = [{clear: 0.001, other: 0.2}, {other: 0.015}]
    adjusted = over_looks(looks, (0.5, 0.5), 0.05)
    assert adjusted == {clear: (0, 0.004), other: (1, pytest.approx(1.5 * 0.03))}, "what is clear counts half"


def test_one_look_has_the_correction_of_directions() -> None:
    p_values = {("a", "b"): 0.01, ("a", "c"): 0.02, ("b", "c"): 0.4}
    adjusted = over_looks([p_values], (1.0,), 0.05)
    assert {pair: p for pair, (_, p) in adjusted.items()} == directional(p_values)


def test_looks_keep_the_level_for_uniform_p_values() -> None:
    """Three true hypotheses and a false one, independent at each look: the worst case for shares that sum to 1."""
    generator = np.random.default_rng(0)
    names = [("a", "b"), ("c", "d"), ("e", "f")]
    false_reports = 0
    for _ in range(4_000):
        looks = [dict(zip(names, generator.random(3), strict=True)) | {("g", "h"): 0.0} for _ in range(3)]
        adjusted = over_looks(looks, (0.0625, 0.1875, 0.75), 0.05)
        false_reports += any(adjusted[name][1] < 0.05 for name in names)
    assert 0.03 < false_reports / 4_000 < 0.05 + 2 * (0.05 * 0.95 / 4_000) ** 0.5
