"""Which published figures a user chooses, and which of them stand beside ours."""

import pytest

from benchrunner import RequestError, UnknownName
from inline import mood
from published_moods import choice


def chosen(*names: str) -> list[tuple[str, float]]:
    return [(figure.row.name, figure.value) for figure in choice(*names).figures]


def test_without_names_the_rows_by_default_are_chosen() -> None:
    assert chosen() == [
        *(("Mercury", value) for value in (80.5, 81.5, 11.1)),
        *(("Barometer", value) for value in (70.5, 22.2, 33.3)),
    ]


def test_all_and_none_stand_for_themselves() -> None:
    assert len(chosen("all")) == 7 and len(chosen("ALL")) == 7 and chosen("none") == []


def test_figures_on_other_data_are_never_chosen() -> None:
    assert 44.4 not in [value for _, value in chosen("all")]
    assert [value for _, value in chosen("Barometer")] == [70.5, 22.2, 33.3]


def test_a_system_stands_for_its_variants() -> None:
    assert {name for name, _ in chosen("mercury")} == {"Mercury", "Mercury (ensemble)"}
    assert {name for name, _ in chosen("Mercury (Ensemble)")} == {"Mercury (ensemble)"}
    assert len(chosen("mercury", " barometer ")) == 7


def test_an_unknown_system_is_answered_with_the_closest() -> None:
    with pytest.raises(UnknownName, match=r"no published system 'mercuri'\. Did you mean Mercury\?"):
        choice("mercuri")
    with pytest.raises(UnknownName, match=r"no published system 'xyz'\. Known: Barometer, Mercury\."):
        choice("Mercury", "xyz")


@pytest.mark.parametrize("names", [("all", "Mercury"), ("none", "all"), ("",), (" ", "")])
def test_all_and_none_are_not_mixed_with_names(names: tuple[str, ...]) -> None:
    with pytest.raises(RequestError, match="Published systems are all, or none, or names separated by commas"):
        choice(*names)


def test_only_the_same_metric_of_the_same_task_stands_beside() -> None:
    beside = choice("all").beside_metric(mood(), "dev", "accuracy")
    assert [(figure.row.name, figure.measures.kind, figure.value) for figure in beside] == [
        ("Mercury", "dev", 81.5),
        ("Mercury", "test", 80.5),
        ("Mercury (ensemble)", "dev", 82.5),
    ]
    assert [figure.value for figure in choice("all").beside_metric(mood(), "dev", "matthews")] == [11.1]
    assert choice("all").beside_metric(mood(name="mine/gloom"), "dev", "accuracy") == []


def test_only_the_same_average_of_the_same_suite_stands_beside() -> None:
    for average, value in (("mean", 70.5), ("score", 33.3)):
        [figure] = choice("all").beside_average({"mine"}, average)
        assert figure.value == value
    assert choice("all").beside_average({"mine"}, "median") == []
