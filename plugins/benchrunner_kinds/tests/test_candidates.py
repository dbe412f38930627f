"""Candidates: every row offers another number of texts, and several of them may be right."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from benchrunner import RIGHT_CHOICE, DataError, Recipe, Rows
from benchrunner.engine import Features, collate
from benchrunner_kinds import Candidates, Choose
from benchrunner_kit.testing import TinyEncoder

WHICH = Candidates()
ROWS = {
    "a": ["He sat", "She ran away and", "It"],
    "choices": [["down", "up the whole day", "in"], ["fell", "won"], ["rained"]],
    "label": [[2, 0], [1], [0]],
}
CPU = torch.device("cpu")


def table(**changes: Any) -> pa.Table:
    return WHICH.check(Rows(pa.table({**ROWS, **changes}), "f.jsonl", [2, 3, 4]), labelled=True)


def features() -> Features:
    encoded: Features = WHICH.encode(table(), TinyEncoder(), Recipe(), training=True)
    return encoded


def test_a_row_is_one_unit_of_as_many_sequences_as_candidates() -> None:
    encoded = features()
    assert encoded.groups.tolist() == [0, 3, 5, 6] and encoded.owner.tolist() == [0, 0, 0, 1, 1, 2]
    assert encoded.targets["count"].tolist() == [3, 2, 1]


def test_the_loss_is_that_of_all_right_candidates_together() -> None:
    batch = collate(features(), np.array([1, 0, 2]), CPU)
    scores = torch.tensor([[0.5], [1.0], [2.0], [0.0], [1.0], [7.0]], requires_grad=True)  # rows 1, 0 and 2
    first, second = scores[:2, 0].softmax(0), scores[2:5, 0].softmax(0)
    expected = -(first[1].log() + (second[0] + second[2]).log())
    loss = WHICH.loss(scores, batch)
    torch.testing.assert_close(loss, expected)
    (gradient,) = torch.autograd.grad(loss, scores, retain_graph=True)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected, scores)[0])


def test_the_loss_of_equal_counts_is_that_of_choose() -> None:
    rows = pa.table({"a": ["x", "y"], "choices": [["p q", "r"], ["s", "t u v"]], "label": [1, 0]})
    scores = torch.tensor([[0.5], [1.0], [2.0], [0.25]])
    losses = []
    for problem in (WHICH, Choose(2)):
        checked = problem.check(Rows(rows, "f"), labelled=True)
        encoded = problem.encode(checked, TinyEncoder(), Recipe(), training=True)
        losses.append(problem.loss(scores, collate(encoded, np.array([0, 1]), CPU)))
    torch.testing.assert_close(*losses)


def test_outputs_are_gathered_and_decoded_a_row_at_a_time() -> None:
    data = table(names=[["D", "U", "I"], ["F", "W"], ["R"]])
    gathered = WHICH.gather(np.array([[1.0], [5.0], [2.0], [4.0], [0.0], [300.0]]), features(), data)
    assert len(gathered) == WHICH.output_count(data) == 6
    assert WHICH.decode(gathered, data, {}) == [1, 0, 0]
    figures = WHICH.extra_figures(gathered, data, {})
    assert figures["choice"] == ["U", "F", "R"]
    assert figures["probabilities"][1] == pytest.approx([1 / (1 + math.exp(-4)), 1 / (1 + math.exp(4))])
    assert [len(row) for row in figures["probabilities"]] == [3, 2, 1]


def test_an_ensemble_averages_probabilities() -> None:
    data = table()
    one, two = (WHICH.gather(np.array(scores), features(), data) for scores in ([0, 0, 0, 9, 0, 1], [0, 2, 0, 0, 1, 5]))
    mean = WHICH.average([one, two])
    np.testing.assert_allclose(np.exp(mean), (np.exp(one) + np.exp(two)) / 2, rtol=1e-6)
    assert WHICH.average([one]) is one


def test_a_choice_is_right_if_it_is_one_of_the_right_ones() -> None:
    assert RIGHT_CHOICE.score([[2, 0], [1], [0]], [0, 0, 0]).value == pytest.approx(2 / 3)
    assert RIGHT_CHOICE.score([1, 0], [1, 1]).value == 0.5


def test_single_labels_stay_numbers() -> None:
    assert WHICH.gold(table(label=[2, 1, 0])) == [2, 1, 0]
    mixed = Rows(pa.table({**ROWS, "label": [[2], [1], [0]]}), "f.jsonl")
    assert WHICH.gold(WHICH.check(mixed, labelled=True)) == [[2], [1], [0]]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"label": [[3], [0], [0]]}, r"f\.jsonl:2: label \[3\] is not a whole number .* \(there are 3 candidates"),
        ({"label": [[0], [], [0]]}, r"f\.jsonl:3: label \[\] is not"),
        ({"label": [0, 1, None]}, r"f\.jsonl:4: label None is not"),
        ({"label": [True, True, False]}, r"f\.jsonl:2: label True is not"),
        ({"choices": [["a"], [], ["b"]]}, r"f\.jsonl:3: column 'choices' must be a list of one text or more"),
        ({"choices": [["a"] * 1001, ["b", "c"], ["d"]]}, r"f\.jsonl:2: 1,001 candidates; 1,000 is the limit"),
        ({"names": [["x"], ["y", "z"], ["u"]]}, r"f\.jsonl:2: 1 names for 3 choices"),
        ({"a": ["x", None, "y"]}, r"f\.jsonl:3: column 'a' must be text"),
    ],
)
def test_a_bad_row_is_named(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        table(**change)


@pytest.mark.parametrize("text", ["-1", "1.0", "x", "", "٣", "1000", "9" * 5000])
def test_an_answer_is_the_number_of_a_candidate(text: str) -> None:
    with pytest.raises(ValueError, match="number of a candidate"):
        WHICH.parse(text)
    assert WHICH.parse("12") == 12
