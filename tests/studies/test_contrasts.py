"""What is compared with what, by `compare --against`."""

import pytest

from benchrunner.errors import RequestError
from benchrunner.studies.contrasts import compared_with
from benchrunner.studies.study_building import compared
from inline import mood

NAMES = ("a", "b-1", "bert/mini")


def contrasts(*, against: str, names: tuple[str, ...] = NAMES) -> list[tuple[str, str]]:
    return list(compared_with(compared(names, (mood(),)), against).contrasts)


def test_all_are_compared_with_the_system_of_against() -> None:
    assert contrasts(against="b-1") == [("a", "b-1"), ("bert/mini", "b-1")]
    assert contrasts(against="mini") == [("a", "bert/mini"), ("b-1", "bert/mini")]
    assert contrasts(against="2/64", names=("a", "bert/2/64")) == [("a", "bert/2/64")]


def test_against_an_unknown_or_only_system_is_refused() -> None:
    with pytest.raises(RequestError, match="There is no system 'b'"):
        contrasts(against="b")
    with pytest.raises(RequestError, match="--against a: the study has no other system"):
        contrasts(against="a", names=("a",))
