"""IOB tags: both schemes mark the same phrases, and tags that follow neither scheme mark phrases too."""

import random

import pytest
from seqeval.metrics import f1_score, precision_score, recall_score

from benchrunner_kinds.tags.iob_tags import as_iob2, begins_phrase, iob_labels, phrase_metrics


def test_the_tags_are_o_and_two_of_each_type() -> None:
    assert iob_labels(("PER", "MULTI-X")) == ("O", "B-PER", "I-PER", "B-MULTI-X", "I-MULTI-X")


@pytest.mark.parametrize(
    ("before", "tag", "first"),
    [
        ("O", "O", False),
        ("I-LOC", "O", False),
        ("O", "I-LOC", True),
        ("O", "B-LOC", True),
        ("B-LOC", "I-LOC", False),
        ("I-LOC", "I-LOC", False),
        ("I-LOC", "B-LOC", True),
        ("I-LOC", "I-PER", True),
        ("I-x-y", "I-x-z", True),
    ],
)
def test_a_phrase_begins_at_b_after_o_and_where_the_type_changes(before: str, tag: str, first: bool) -> None:
    assert begins_phrase(before, tag) is first


@pytest.mark.parametrize(
    ("tags", "iob2"),
    [
        ([], []),
        (["I-LOC", "I-LOC", "B-LOC", "O", "I-LOC"], ["B-LOC", "I-LOC", "B-LOC", "O", "B-LOC"]),
        (["B-LOC", "I-LOC", "B-LOC", "O", "B-LOC"], ["B-LOC", "I-LOC", "B-LOC", "O", "B-LOC"]),
        (["B-LOC", "I-PER", "I-PER"], ["B-LOC", "B-PER", "I-PER"]),
    ],
)
def test_every_phrase_begins_with_b_in_iob2(tags: list[str], iob2: list[str]) -> None:
    assert as_iob2(tags) == iob2


@pytest.mark.parametrize("seed", range(5))
def test_the_figures_equal_those_of_seqeval(seed: int) -> None:
    draw, labels = random.Random(seed), iob_labels(("PER", "LOC"))
    gold = [draw.choices(labels, k=length) for length in (1, 5, 9, 14)]  # also I- tags that continue nothing
    answers = [draw.choices(labels, k=len(tags)) for tags in gold]
    expected = [function(gold, answers) for function in (f1_score, precision_score, recall_score)]
    assert [metric.score(gold, answers).value for metric in phrase_metrics()] == pytest.approx(expected)
    assert [metric.score([["O"]], [["O"]]).value for metric in phrase_metrics()] == [0.0, 0.0, 0.0]
