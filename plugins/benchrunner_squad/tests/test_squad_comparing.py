"""Comparisons of answers with values worked out by hand from the official scripts."""

from __future__ import annotations

import pytest

from benchrunner import Score
from benchrunner_squad.comparing import (
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
        ("a.", ""),  # punctuation is removed first and leaves an article
        ("a.the", "athe"),
        ("A B a-b", "b ab"),
        ("“Bob’s”", "“bob’s”"),  # only ASCII punctuation is dropped
        ("‘the’ end", "‘ ’ end"),
        ("the_end", "theend"),
        ("Γαλλία ÉTÉ İ", "γαλλία été i̇"),
        ("thé à la", "thé à la"),  # accented letters are letters, so this has no article
        ("x\u00a0the\u3000y", "x y"),
        ("", ""),
        ("?!", ""),
    ],
)
def test_normalising_removes_case_punctuation_and_articles(text: str, expected: str) -> None:
    assert normalised(text) == expected


@pytest.mark.parametrize(
    ("right", "answer", "is_exact", "overlap"),
    [
        (["Denver Broncos"], "the Denver Broncos!", 1.0, 1.0),
        (["Denver Broncos"], "Broncos", 0.0, 2 / 3),  # precision 1, recall 1/2
        (["10th and 11th centuries"], "in the 10th century", 0.0, 2 * (1 / 3) * (1 / 4) / (1 / 3 + 1 / 4)),
        (["gold gold"], "gold", 0.0, 2 / 3),  # a word counts as often as both texts have it
        (["gold"], "gold gold gold", 0.0, 2 * (1 / 3) * 1 / (1 / 3 + 1)),
        (["Paris", "the city of Paris"], "city of Paris", 1.0, 1.0),
        (["Paris"], "London", 0.0, 0.0),
        (["Paris"], "", 0.0, 0.0),
        (["."], "the", 1.0, 0.0),  # equal after normalising, but without a word in common
        ([".", "Paris"], "Paris", 1.0, 1.0),
    ],
)
def test_answers_are_compared_as_in_the_script_for_1_1(
    right: list[str], answer: str, is_exact: float, overlap: float
) -> None:
    assert exact(right, answer) == is_exact
    assert f1(right, answer) == overlap


@pytest.mark.parametrize(
    ("right", "answer", "is_exact", "overlap"),
    [
        ([], "", 1.0, 1.0),
        ([], "the", 1.0, 1.0),  # empty after normalising
        ([], "Paris", 0.0, 0.0),
        (["Paris"], "", 0.0, 0.0),
        (["Paris"], "The Paris", 1.0, 1.0),
        (["."], "", 1.0, 1.0),  # no right answer is left, so the empty one is right
        (["."], "Paris", 0.0, 0.0),
        ([".", "Paris"], "", 0.0, 0.0),  # a right answer that is empty is ignored
        ([".", "Paris"], "in Paris", 0.0, 2 / 3),
    ],
)
def test_the_empty_answer_is_compared_as_in_the_script_for_2_0(
    right: list[str], answer: str, is_exact: float, overlap: float
) -> None:
    assert EXACT_OR_NONE(right, answer) == is_exact
    assert F1_OR_NONE(right, answer) == overlap


GOLD = [["Paris", "city of Paris"], [], ["Rome"], []]


def test_2_0_scores_are_also_given_by_kind_of_question() -> None:
    scores = {metric.name: metric.score(GOLD, ["of Paris", "", "", "Oslo"]) for metric in ANSWERED_OR_NONE}
    assert scores == {
        "f1": Score((0.8 + 1) / 4),
        "exact": Score(0.25),
        "HasAns_f1": Score(0.4),
        "HasAns_exact": Score(0.0),
        "NoAns_f1": Score(0.5),
        "NoAns_exact": Score(0.5),
    }


def test_a_metric_without_such_questions_is_absent() -> None:
    scores = {metric.name: metric.score([["Rome"]], ["Rome"]) for metric in ANSWERED_OR_NONE}
    assert scores["HasAns_f1"] == Score(1.0)
    assert scores["NoAns_f1"] == Score(None, "there are no questions without an answer")
    assert ANSWERED_OR_NONE[2].score([[]], [""]) == Score(None, "there are no questions with an answer")


def test_a_mean_is_the_same_on_every_python() -> None:
    values = [0.1] * 10
    assert percent(values, 10) == 100.0 * 0.9999999999999999 / 10  # sum(values) is 1.0 from Python 3.12 on
