"""A parameter: which declarations are possible, grids from texts, and another value than the default."""

from typing import Any

import pytest

from benchrunner.engine import Parameter
from benchrunner.errors import PluginError, RequestError

RANK = Parameter("rank", "rank of the updates", 8, at_least=1)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"name": "The label"}, "The parameter 'The label' cannot be used: its name is not made of a-z, 0-9"),
        ({"name": 3}, "The parameter 3 cannot be used: its name is not made of"),
        ({"about": " "}, "it has no text that says what it does"),
        ({"default": None}, "its default is neither a number, nor a text, nor True or False"),
        ({"default": 2, "at_most": 1}, "its default must be a whole number up to 1, not 2."),
        ({"default": "loud", "choices": ("calm",)}, "its default must be one of calm, not 'loud'"),
        ({"default": "calm", "choices": ("calm", 3)}, "its choices are not a tuple of values of its kind"),
        ({"default": "calm", "at_least": 3}, "it has a limit, and its values are no numbers"),
    ],
)
def test_a_wrong_declaration_is_refused(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(PluginError) as refused:
        Parameter(**{"name": "label", "about": "index of the answer", "default": 0, **changes})
    assert fault in str(refused.value)


def test_several_values_are_a_grid_unless_that_is_forbidden() -> None:
    assert RANK.read_values("4, 8", "rank") == (4, 8)
    with pytest.raises(RequestError, match="rank must be a whole number from 1 up, not '4, 8'"):
        Parameter("rank", "rank", 8, at_least=1, in_grid=False).read_values("4, 8", "rank")
    with pytest.raises(RequestError, match="not ''"):
        RANK.read_values("4,", "rank")


@pytest.mark.parametrize(
    ("limits", "values"),
    [
        ({}, "a number"),
        ({"at_least": 0, "at_most": 1}, "a number from 0 to 1"),
        ({"at_least": 0, "below": 1}, "a number from 0 up and below 1"),
        ({"above": 0, "at_most": 1000}, "a number above 0 and up to 1,000"),
        ({"at_most": 1}, "a number up to 1"),
        ({"at_least": 0, "whole_above": 1}, "a number from 0 up, whole above 1"),
    ],
)
def test_limits_are_said_in_words(limits: dict[str, float], values: str) -> None:
    own = Parameter("rate", "a rate", 0.5, **limits)
    assert own.values_text == values
    for edge, is_possible in (("at_least", True), ("at_most", True), ("above", False), ("below", False)):
        if edge in limits:
            assert own._is_allowed(float(limits[edge])) is is_possible
    if "whole_above" in limits:
        assert [own._is_allowed(value) for value in (0.5, 1.0, 2.0, 1.5)] == [True, True, True, False]
