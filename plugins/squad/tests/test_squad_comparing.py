"""Answers compared by hand, as the official scripts compare them."""

from __future__ import annotations

import pytest

from benchrunner.metrics import Score, score
from benchrunner_squad.comparing import (
    ANSWERED,
    ANSWERED_OR_NONE,
    EXACT_OR_NONE,
    F1_OR_NONE,
    exact,
    f1,
    normalised,
    percent,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Denver Broncos", "denver broncos"),
        ("  a  cat\tand an\nowl ", "cat and owl"),
        ("$5 million", "5 million"),
        ("U.S.A.", "usa"),
        ("twenty-one", "twentyone"),
        ("theatre an-other", "theatre another"),
        ("a.", ""),  # punctuation goes first, and leaves an article
        ("a.the", "athe"),
        ("A B a-b", "b ab"),
        ("“Bob’s”", "“bob’s”"),  # only ASCII punctuation is dropped
        ("‘the’ end", "‘ ’ end"),
        ("the_end", "theend"),
        ("Γαλλία ÉTÉ İ", "γαλλία été i̇"),
        ("thé à la", "thé à la"),  # accented letters are letters: no article stands here
        ("x\u00a0the\u3000y", "x y"),
        ("", ""),
        ("?!", ""),
    ],
)
def test_normalising_lowers_then_drops_punctuation_then_articles(text: str, expected: str) -> None:
    assert normalised(text) == expected


@pytest.mark.parametrize(
    ("right", "answer", "is_exact", "overlap"),
    [
        (["Denver Broncos"], "the Denver Broncos!", 1.0, 1.0),
        (["Denver Broncos"], "Broncos", 0.0, 2 / 3),  # precision 1, recall 1/2
        (["10th and 11th centuries"], "in the 10th century", 0.0, 2 * (1 / 3) * (1 / 4) / (1 / 3 + 1 / 4)),
        (["gold gold"], "gold", 0.0, 2 / 3),  # a word counts as often as it stands in both
        (["gold"], "gold gold gold", 0.0, 2 * (1 / 3) * 1 / (1 / 3 + 1)),
        (["Paris", "the city of Paris"], "city of Paris", 1.0, 1.0),
        (["Paris"], "London", 0.0, 0.0),
        (["Paris"], "", 0.0, 0.0),
        (["."], "the", 1.0, 0.0),  # equal as texts, but without a word in common
        ([".", "Paris"], "Paris", 1.0, 1.0),
    ],
)
def test_answers_are_compared_as_the_script_for_1_1_does(
    right: list[str], answer: str, is_exact: float, overlap: float
) -> None:
    assert exact(right, answer) == is_exact
    assert f1(right, answer) == overlap


@pytest.mark.parametrize(
    ("right", "answer", "is_exact", "overlap"),
    [
        ([], "", 1.0, 1.0),
        ([], "the", 1.0, 1.0),  # normalising leaves nothing of it
        ([], "Paris", 0.0, 0.0),
        (["Paris"], "", 0.0, 0.0),
        (["Paris"], "The Paris", 1.0, 1.0),
        (["."], "", 1.0, 1.0),  # no right answer is left: none is right
        (["."], "Paris", 0.0, 0.0),
        ([".", "Paris"], "", 0.0, 0.0),  # the blank one does not count beside another
        ([".", "Paris"], "in Paris", 0.0, 2 / 3),
    ],
)
def test_no_answer_is_an_answer_to_the_script_for_2_0(
    right: list[str], answer: str, is_exact: float, overlap: float
) -> None:
    assert EXACT_OR_NONE(right, answer) == is_exact
    assert F1_OR_NONE(right, answer) == overlap


GOLD = [["Paris", "city of Paris"], [], ["Rome"], []]


def test_2_0_scores_are_also_given_by_kind_of_question() -> None:
    found = {one.name: score(one, GOLD, ["of Paris", "", "", "Oslo"]) for one in ANSWERED_OR_NONE}
    assert found == {
        "f1": Score(100.0 * (0.8 + 1) / 4),
        "exact": Score(25.0),
        "HasAns_f1": Score(40.0),
        "HasAns_exact": Score(0.0),
        "NoAns_f1": Score(50.0),
        "NoAns_exact": Score(50.0),
    }


def test_a_figure_of_questions_that_are_not_there_is_absent() -> None:
    found = {one.name: score(one, [["Rome"]], ["Rome"]) for one in ANSWERED_OR_NONE}
    assert found["HasAns_f1"] == Score(100.0)
    assert found["NoAns_f1"] == Score(None, "there are no questions without an answer")
    assert score(ANSWERED_OR_NONE[2], [[]], [""]) == Score(None, "there are no questions with an answer")


@pytest.mark.parametrize("metric", [*ANSWERED, *ANSWERED_OR_NONE[:2]], ids=lambda one: one.name)
def test_a_figure_is_the_mean_of_its_rows(metric) -> None:  # type: ignore[no-untyped-def]
    gold, answers = [["Paris"], ["old Rome"], ["Oslo"]], ["Paris", "Rome", ""]
    rows = [metric.per_row(*one) for one in zip(gold, answers, strict=True)]
    assert metric.compute(gold, answers) == pytest.approx(sum(rows) / 3)
    assert metric.scale == 1.0


def test_the_headline_comes_first() -> None:
    assert (ANSWERED[0].name, ANSWERED_OR_NONE[0].name) == ("f1", "f1")
    assert [one.name for one in ANSWERED_OR_NONE if not one.detail] == ["f1", "exact"]


def test_a_mean_is_added_up_one_by_one_on_every_python() -> None:
    values = [0.1] * 10
    assert percent(values, 10) == 100.0 * 0.9999999999999999 / 10  # what 3.12's sum gives is 1.0
