"""Labels of marked words: the head reads the states of the marks, and long texts are cut around them."""

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from benchrunner import DataError, PluginError, Recipe, RequestError, Rows
from benchrunner.engine import collate
from benchrunner_kinds import ClassifyWords
from benchrunner_kit.testing import TinyEncoder

SAME = ClassifyWords(("no", "yes"))
ROWS = {
    "a": ["the bank of the river", "a bank"],
    "b": ["he went to the bank", "two banks are closed"],
    "marks": [[[0, 4, 8], [1, 15, 19]], [[0, 2, 6], [1, 4, 9]]],
    "label": ["no", "yes"],
}
CPU = torch.device("cpu")


def table(**changes: Any) -> pa.Table:
    rows = {name: values for name, values in {**ROWS, **changes}.items() if values is not None}
    return SAME.check(Rows(pa.table(rows), "f.jsonl", [2, 3]), labelled=True)


def test_the_targets_are_the_tokens_of_the_marks() -> None:
    features = SAME.encode(table(), TinyEncoder(), Recipe(), training=True)
    # [BEGIN] the bank of the river [SEP] he went to the bank [SEP]: the marks are tokens 2 and 11
    assert features.targets["places"].tolist() == [[0, 2, 11], [0, 2, 5]]
    assert features.guides["places"].tolist() == [[0, 2, 11], [13, 15, 18]]
    assert features.targets["label"].tolist() == [0, 1]


def test_two_marks_of_one_text_are_read_too() -> None:
    one = table(b=None, marks=[[[0, 4, 8], [0, 16, 21]], [[0, 0, 1], [0, 2, 6]]])
    features = SAME.encode(one, TinyEncoder(), Recipe(), training=True)
    assert features.targets["places"].tolist() == [[0, 2, 5], [0, 1, 2]]


def test_the_outputs_read_the_states_side_by_side() -> None:
    torch.manual_seed(0)
    data = table()
    features = SAME.encode(data, TinyEncoder(), Recipe(), training=True)
    states, layer = torch.randn(len(features.tokens), 5), torch.nn.Linear(5, 6)
    read = states[torch.from_numpy(features.guides["places"])]  # (rows, 3, 5)
    weight, bias = layer.weight.view(3, 2, 5), layer.bias.view(3, 2)
    side_by_side = read.flatten(1) @ weight.permute(1, 0, 2).flatten(1).T + bias.sum(0)
    outputs = layer(states)
    torch.testing.assert_close(torch.from_numpy(SAME.gather(outputs.detach().numpy(), features, data)), side_by_side)
    batch = collate(features, np.array([1, 0]), CPU)
    in_batch = outputs[batch.feature_positions]
    expected = torch.nn.functional.cross_entropy(side_by_side, torch.tensor([0, 1]), reduction="sum")
    torch.testing.assert_close(SAME.loss(in_batch, batch), expected)


@pytest.mark.parametrize("seed", range(4))
def test_a_long_text_is_cut_around_its_marks(seed: int) -> None:
    draw = random.Random(seed)
    encoder = TinyEncoder()
    rows: dict[str, list[Any]] = {"a": [], "b": [], "marks": [], "label": []}
    for _ in range(20):
        marks = []
        for number, name in enumerate("ab"):
            words = [f"w{draw.randrange(1000)}" for _ in range(draw.randint(1, 60))]
            at = draw.randrange(len(words))
            words[at] = f"marked{number}"
            begin = len(" ".join(words[:at])) + (at > 0)
            rows[name].append(" ".join(words))
            marks.append([number, begin, begin + len(words[at])])
        rows["marks"].append(marks)
        rows["label"].append("no")
    data = SAME.check(Rows(pa.table(rows), "f"), labelled=True)
    features = SAME.encode(data, encoder, Recipe(max_length=20), training=False)
    assert features.lengths.max() <= 20
    wanted = encoder.words(["marked0", "marked1"]).tokens.tolist()
    for places in features.guides["places"]:
        assert features.tokens[places[1:]].tolist() == wanted


def test_a_mark_that_is_not_shown_is_read_from_the_summary_token() -> None:
    text = " ".join(["word"] * 50)
    far = table(a=[text, text], b=None, marks=[[[0, 0, 4], [0, 245, 249]], [[0, 0, 4], [0, 5, 9]]])
    features = SAME.encode(far, TinyEncoder(), Recipe(max_length=10), training=False)
    assert (features.guides["places"][0] == [0, 0, 0]).all()
    assert (features.guides["places"][1] == [10, 11, 12]).all()


def test_a_sequence_without_room_is_refused() -> None:
    with pytest.raises(RequestError, match="max_length of 4 leaves no room"):
        SAME.encode(table(), TinyEncoder(), Recipe(max_length=4), training=False)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"marks": None}, "no column marks; found a, b, label"),
        ({"marks": [[[0, 4, 8]], [[0, 2, 6], [1, 4, 9]]]}, r"f\.jsonl:2: column 'marks' must have 2 marks"),
        ({"marks": [[[0, 4, 8], [1, 15, 19]], [[0, 2, 6], [2, 4, 9]]]}, r"f\.jsonl:3: the mark \[2, 4, 9\] is in"),
        ({"marks": [[[0, 4, 8], [1, 15, 20]], [[0, 2, 6], [1, 4, 9]]]}, "marks no word of its text, which has 19"),
        ({"marks": [[[0, 3, 4], [1, 15, 19]], [[0, 2, 6], [1, 4, 9]]]}, "marks no word"),
        ({"marks": [[[0, 4], [1, 15]], [[0, 2], [1, 4]]]}, r"its first character and its end, not \[0, 4\]"),
        ({"b": None}, r"f\.jsonl:2: the mark \[1, 15, 19\] is in text 1; there are 1"),
        ({"label": ["no", "maybe"]}, r"f\.jsonl:3: label 'maybe' is not one of no, yes"),
    ],
)
def test_a_bad_row_is_named(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        table(**change)


def test_labels_and_marks_that_cannot_be_are_refused() -> None:
    with pytest.raises(PluginError, match="two or more different labels"):
        ClassifyWords(("a", "a"))
    with pytest.raises(PluginError, match="one mark or more, not 0"):
        ClassifyWords(("a", "b"), marks=0)
