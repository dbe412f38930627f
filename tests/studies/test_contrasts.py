"""What is compared with what, by the options of `compare`: one system, or named pairs."""

import pytest

from benchrunner.errors import RequestError
from benchrunner.studies.backbones_by_tasks import compared
from benchrunner.studies.significance.contrasts import with_contrasts
from inline import mood

NAMES = ("a", "b-1", "bert/mini")


def contrasts(*texts: str, against: str | None = None, names: tuple[str, ...] = NAMES) -> list[tuple[str, str]]:
    return list(with_contrasts(compared(names, (mood(),)), against, texts).contrasts)


def test_without_options_all_pairs_are_compared() -> None:
    assert contrasts() == []


def test_all_are_compared_with_the_system_of_against() -> None:
    assert contrasts(against="b-1") == [("a", "b-1"), ("bert/mini", "b-1")]
    assert contrasts(against="mini") == [("a", "bert/mini"), ("b-1", "bert/mini")]
    assert contrasts(against="2/64", names=("a", "bert/2/64")) == [("a", "bert/2/64")]
    assert contrasts("a - b-1", "b-1 - a", against="b-1") == [("a", "b-1"), ("bert/mini", "b-1"), ("b-1", "a")]


@pytest.mark.parametrize("text", ["b-1 - mini", "b-1-mini", "b-1 - bert/mini", "b-1-bert/mini"])
def test_names_of_a_contrast_may_have_a_minus(text: str) -> None:
    assert contrasts(text) == [("b-1", "bert/mini")]


def test_a_system_stands_on_the_left_of_several_contrasts() -> None:
    assert contrasts("a-b-1", "a-mini") == [("a", "b-1"), ("a", "bert/mini")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a", "--contrast a is not 'A - B' with two different names of systems or arms; they are: a, b-1, bert/mini."),
        ("a - a", "is not 'A - B'"),
        ("a - c", "is not 'A - B'"),
        ("", "is not 'A - B'"),
    ],
)
def test_a_contrast_without_two_systems_is_refused(text: str, said: str) -> None:
    with pytest.raises(RequestError, match="contrast") as error:
        contrasts(text)
    assert said in str(error.value)


def test_a_contrast_with_two_readings_is_refused() -> None:
    names = ("a", "b-c", "a-b", "c")
    with pytest.raises(RequestError, match=r"read as 'a' and 'b-c' or as 'a-b' and 'c'\. Write 'A - B' with blanks"):
        contrasts("a-b-c", names=names)
    assert contrasts("a-b - c", names=names) == [("a-b", "c")]


def test_against_an_unknown_or_only_system_is_refused() -> None:
    with pytest.raises(RequestError, match="There is no system 'b'"):
        contrasts(against="b")
    with pytest.raises(RequestError, match="no other system to compare with a"):
        contrasts(against="a", names=("a",))
