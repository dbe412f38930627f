"""Choose: a row has several sequences, with one softmax over them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from benchrunner.data.rows import Rows
from benchrunner.errors import DataError, PluginError
from benchrunner.features.flat_batch import collate
from benchrunner.parameters.recipes import Recipe
from benchrunner_kinds.choices import Choose
from benchrunner_kit.testing import TinyEncoder

NEXT = Choose(3)
ROWS = {
    "a": ["He sat", "She ran away and"],
    "choices": [["down", "up the whole day", "in"], ["fell", "won", "hid there"]],
    "label": [2, 0],
}


def table(**changes: Any) -> pa.Table:
    return NEXT.check(Rows(pa.table({**ROWS, **changes}), "f.csv", [2, 3]), labelled=True)


def test_a_row_is_one_unit_of_as_many_sequences_as_choices() -> None:
    features = NEXT.encode(table(), TinyEncoder(), Recipe(), training=True)
    assert features.groups.tolist() == [0, 3, 6] and features.owner.tolist() == [0, 0, 0, 1, 1, 1]
    assert features.lengths.tolist() == [6, 9, 6, 8, 8, 9]
    assert features.targets["label"].tolist() == [2, 0]


def test_the_loss_is_one_softmax_over_the_choices_of_a_row() -> None:
    features = NEXT.encode(table(), TinyEncoder(), Recipe(), training=True)
    batch = collate(features, np.array([1, 0]), torch.device("cpu"))
    scores = torch.tensor([[0.5], [1.0], [-1.0], [2.0], [0.0], [1.0]])  # row 1's, then row 0's
    wanted = -(scores[:3, 0].log_softmax(0)[0] + scores[3:, 0].log_softmax(0)[2])
    torch.testing.assert_close(NEXT.loss(scores, batch), wanted)


def test_outputs_are_gathered_and_decoded_a_row_at_a_time() -> None:
    data = table()
    features = NEXT.encode(data, TinyEncoder(), Recipe(), training=False)
    gathered = NEXT.gather(np.array([[1.0], [5.0], [2.0], [0.0], [0.0], [3.0]]), features, data)
    assert NEXT.decode(gathered, data, {}) == [1, 2]
    probabilities = NEXT.extra_figures(gathered, data, {})["probabilities"]
    assert [sum(row) for row in probabilities] == pytest.approx([1, 1])
    assert NEXT.decode(NEXT.average([gathered, gathered]), data, {}) == [1, 2]


def test_majority_is_the_commonest_place_and_of_equals_the_first() -> None:
    assert NEXT.majority_output(table(label=[1, 1])).tolist() == [0, 1, 0]
    assert NEXT.majority_output(table(label=[2, 1])).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"label": [3, 0]}, r"f\.csv:2: label 3 is not a whole number from 0 to 2 \(there are 3 choices, counted"),
        ({"label": ["0", "x"]}, r"f\.csv:3: label 'x' is not"),
        ({"label": [0.0, float("nan")]}, r"f\.csv:2: label 0\.0 is not"),
        ({"label": [None, 1]}, r"f\.csv:2: label None is not"),
        ({"choices": [["a", "b"], ["a", "b", "c"]]}, r"f\.csv:2: column 'choices' must hold 3 texts, found \['a"),
        ({"choices": [["a", "b", None], ["a", "b", "c"]]}, "must hold 3 texts"),
        ({"choices": [None, ["a", "b", "c"]]}, "must hold 3 texts, found None"),
        ({"a": [None, "x"]}, r"f\.csv:2: column 'a' must be text, found None"),
    ],
)
def test_a_bad_row_is_an_error_with_its_line(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        table(**change)


def test_missing_columns_are_named() -> None:
    with pytest.raises(DataError, match="no column choices, label; found a"):
        NEXT.check(Rows(pa.table({"a": ["x"]}), "f.csv"), labelled=True)


def test_a_choice_between_fewer_than_two_is_none() -> None:
    with pytest.raises(PluginError, match="two or more choices, not 1"):
        Choose(1)


def test_answers_are_written_and_parsed() -> None:
    assert [NEXT.parse(NEXT.spell(number)) for number in range(3)] == [0, 1, 2]
    for text in ("3", "-1", "1.0", "", " 1"):
        with pytest.raises(ValueError, match="from 0 to 2"):
            NEXT.parse(text)
