"""Holm's correction, worked by hand."""

from benchrunner.statistics import holm


def test_adjusted_p_values_by_hand() -> None:
    """0.01 * 4; 0.02 * 3; 0.03 * 2 = 0.06 as well; 0.04 * 1 is raised to 0.06."""
    adjusted = holm({"a": 0.04, "b": 0.01, "c": 0.03, "d": 0.02})
    assert {name: round(value, 12) for name, value in adjusted.items()} == {"a": 0.06, "b": 0.04, "c": 0.06, "d": 0.06}
    assert list(adjusted) == ["a", "b", "c", "d"]


def test_adjusted_p_values_are_at_most_one() -> None:
    assert holm({1: 0.9, 2: 0.6}) == {1: 1.0, 2: 1.0}
    assert holm({}) == {}
