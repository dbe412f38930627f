"""Classify and regress: labels checked, losses by hand, answers decoded and parsed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from benchrunner.data.rows import Rows
from benchrunner.errors import DataError, PluginError
from benchrunner.features.arrays import Sequences
from benchrunner.features.flat_batch import FlatBatch
from benchrunner.parameters.recipes import Recipe
from benchrunner.problems import sentences
from benchrunner.problems.problem import HeadShape, Problem
from benchrunner.problems.sentences import Classify, Regress
from benchrunner_kit.testing.tiny_encoder import TinyEncoder

MOOD = Classify(("glad", "sad", "calm"))
GRADE = Regress(0, 5)


def checked(problem: Problem, *, labelled: bool = True, **columns: list[Any]) -> pa.Table:
    lines = range(2, 2 + len(columns["a"]))
    return problem.check(Rows(pa.table(columns), "f.tsv", lines), labelled=labelled)


def with_targets(targets: dict[str, torch.Tensor]) -> FlatBatch:
    """Make a batch without tokens, with the targets that losses read."""
    empty = torch.zeros(0, dtype=torch.int64)
    return FlatBatch(empty, empty, empty, empty, (), empty, targets, np.zeros(0))


NO_TABLE = pa.table({})


class LetterEncoder:
    """An encoder that assembles texts with a token for each letter."""

    max_length = 64

    def assemble(self, a: Sequence[str], b: Sequence[str] | None, max_length: int) -> Sequences:
        pairs = [(text, "") for text in a] if b is None else list(zip(a, b, strict=True))
        texts = [(first + second)[:max_length] for first, second in pairs]
        starts = np.cumsum([0, *map(len, texts)])
        flat = np.array(list(map(ord, "".join(texts))), dtype=np.int32)
        return Sequences(flat, np.zeros(len(flat), dtype=np.int8), starts)


@pytest.mark.parametrize("label", ["Glad", "", "0", None])
def test_an_unknown_label_is_an_error_with_its_line(label: Any) -> None:
    with pytest.raises(DataError, match=r"f\.tsv:3: label .* is not one of glad, sad, calm"):
        checked(MOOD, a=["x", "y"], label=["glad", label])


@pytest.mark.parametrize("label", ["nan", "5.001", "-0.1", "inf", "high", "", None, float("nan")])
def test_an_invalid_or_out_of_range_number_is_reported_by_line(label: Any) -> None:
    with pytest.raises(DataError, match=r"f\.tsv:2: label .* is not a number from 0 to 5"):
        checked(GRADE, a=["x"], label=[label])


def test_numbers_are_the_same_from_text_and_from_numbers() -> None:
    assert checked(GRADE, a=["x", "y"], label=["4.200", "5"]).equals(checked(GRADE, a=["x", "y"], label=[4.2, 5.0]))


@pytest.mark.parametrize("problem", [MOOD, GRADE])
def test_missing_columns_and_missing_texts_are_errors(problem: Problem) -> None:
    with pytest.raises(DataError, match=r"columns a, \[b,\] label are needed; found a"):
        checked(problem, a=["x"])
    with pytest.raises(DataError, match=r"f\.tsv:3: column 'b' must be text, found None"):
        checked(problem, labelled=False, a=["x", "y"], b=["z", None])


def test_test_rows_need_no_label_and_other_columns_are_left_out() -> None:
    table = checked(MOOD, labelled=False, a=["x"], b=["y"], source=["z"])
    assert table.column_names == ["a", "b"]
    assert MOOD.gold(table) is None


def test_a_test_split_whose_labels_are_all_empty_has_none() -> None:
    assert checked(MOOD, labelled=False, a=["x"], label=[None]).column_names == ["a"]
    assert checked(MOOD, labelled=False, a=["x"], label=["sad"]).column_names == ["a", "label"]


def test_one_row_is_one_sequence_and_one_unit() -> None:
    table = checked(MOOD, a=["ab", "c"], b=["d", "efg"], label=["sad", "glad"])
    features = MOOD.encode(table, LetterEncoder(), Recipe(max_length=3), training=True)  # type: ignore[arg-type]
    assert bytes(features.tokens.astype(np.uint8)) == b"abdcef"
    assert features.starts.tolist() == [0, 3, 6]
    assert features.groups.tolist() == [0, 1, 2]
    assert features.owner.tolist() == [0, 1]
    assert features.targets["label"].tolist() == [1, 0]
    assert MOOD.encode(table.drop(["label"]), LetterEncoder(), Recipe(max_length=3), training=True).targets == {}  # type: ignore[arg-type]


@pytest.mark.parametrize("pairs", [False, True])
def test_rows_encoded_in_parts_are_the_same_features(pairs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"a": [f"{'word ' * (row % 7)}end" for row in range(11)], "label": ["yes", *["no"] * 10]}
    table = pa.table(columns | ({"b": columns["a"][::-1]} if pairs else {}))
    problem, encoder, recipe = Classify(("no", "yes")), TinyEncoder(), Recipe(max_length=12)
    whole = problem.encode(table, encoder, recipe, training=True)
    monkeypatch.setattr(sentences, "ROWS_AT_ONCE", 4)
    parts = problem.encode(table, encoder, recipe, training=True)
    for name in ("tokens", "segments", "starts", "groups", "owner"):
        assert np.array_equal(getattr(parts, name), getattr(whole, name))
        assert getattr(parts, name).dtype == getattr(whole, name).dtype
    assert len(problem.encode(table.slice(0, 0), encoder, recipe, training=True).owner) == 0


def test_grades_are_targets_as_they_are() -> None:
    features = GRADE.encode(
        checked(GRADE, a=["a"], label=["4.2"]), LetterEncoder(), Recipe(max_length=9), training=True
    )  # type: ignore[arg-type]
    assert features.targets["label"].dtype == np.float32
    assert features.targets["label"].tolist() == [pytest.approx(4.2)]


def test_the_classification_loss_is_summed_over_rows_in_fp32() -> None:
    outputs = torch.tensor([[0.0, math.log(3.0), 0.0], [0.0, 0.0, 0.0]], dtype=torch.bfloat16)
    loss = MOOD.loss(outputs, with_targets({"label": torch.tensor([1, 2])}))
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(math.log(5 / 3) + math.log(3), rel=1e-2)


def test_the_regression_loss_is_the_summed_squared_error() -> None:
    loss = GRADE.loss(torch.tensor([[1.0], [4.0]]), with_targets({"label": torch.tensor([3.0, 4.5])}))
    assert loss.item() == pytest.approx(4.25)


def test_answers_are_decoded_from_outputs() -> None:
    assert MOOD.decode(np.array([[0.1, 0.3, 0.2], [1.0, 0.0, -1.0]]), NO_TABLE, {}) == ["sad", "glad"]
    assert GRADE.decode(np.array([[5.5], [-0.25]], dtype=np.float32), NO_TABLE, {}) == [5.5, -0.25]


def test_numbers_have_the_digits_that_tell_them_apart() -> None:
    """3.7 in fp32 is 3.700000047683716 in fp64: digits that no model meant."""
    close = np.float32([3.7, np.nextafter(np.float32(3.7), np.float32(4)), 1e-30, 1 / 3])
    answers = GRADE.decode(close[:, None], NO_TABLE, {})
    assert [GRADE.spell(answer) for answer in answers] == ["3.7", "3.7000003", "1e-30", "0.33333334"]
    assert np.float32(answers).tolist() == close.tolist()
    assert GRADE.decode(np.array([[1 / 3]]), NO_TABLE, {}) == [1 / 3]


def test_a_head_has_one_output_for_each_label_or_one_number() -> None:
    assert (MOOD.head, GRADE.head) == (HeadShape("sequence", 3), HeadShape("sequence", 1))


def test_answers_in_files_are_parsed_or_refused_with_a_reason() -> None:
    assert MOOD.parse("calm") == "calm"
    assert GRADE.parse("5.5") == 5.5
    with pytest.raises(ValueError, match=r"^one of glad, sad, calm$"):
        MOOD.parse("1")
    for text in ("nan", "inf", "high", ""):
        with pytest.raises(ValueError, match=r"^a finite number$"):
            GRADE.parse(text)


def test_majority_is_the_most_frequent_or_first_of_tied_labels() -> None:
    often = checked(MOOD, a=["x"] * 3, label=["sad", "calm", "calm"])
    assert MOOD.decode(MOOD.majority_output(often)[None], NO_TABLE, {}) == ["calm"]
    tied = checked(MOOD, a=["x"] * 2, label=["calm", "sad"])
    assert MOOD.decode(MOOD.majority_output(tied)[None], NO_TABLE, {}) == ["sad"]


def test_the_best_constant_grade_is_the_mean() -> None:
    table = checked(GRADE, a=["x", "y"], label=[1.0, 4.0])
    assert GRADE.decode(GRADE.majority_output(table)[None], NO_TABLE, {}) == [2.5]


def test_constant_answers_are_recognised() -> None:
    assert MOOD.is_constant(["sad", "sad"])
    assert not MOOD.is_constant(["sad", "calm"])
    assert not MOOD.is_constant(["sad"])
    assert MOOD.is_constant(["sad"] * 199 + ["calm"]) and not MOOD.is_constant(["sad"] * 198 + ["calm"])


def test_labels_are_different_and_more_than_one() -> None:
    for labels in (("glad",), ("glad", "glad"), ()):
        with pytest.raises(PluginError, match="two or more different labels"):
            Classify(labels)


def test_equal_problem_identity_needs_the_same_labels_in_order() -> None:
    assert MOOD.identity() == Classify(("glad", "sad", "calm")).identity()
    assert MOOD.identity() != Classify(("sad", "glad", "calm")).identity()
    assert GRADE.identity() != Regress(0, 1).identity()


def test_fields_and_class_of_a_problem_are_its_identity() -> None:
    @dataclass(frozen=True)
    class Weighted(Classify):  # type: ignore[misc]
        weight: float = 1.0
        shown: str = ""
        decoding_fields = ("shown",)

    usual = Weighted(("glad", "sad"))
    assert usual.identity() == replace(usual, shown="yes").identity() != replace(usual, weight=2.0).identity()
    assert usual.decoded_with != replace(usual, shown="yes").decoded_with
    assert usual.identity() != type("Other", (Weighted,), {})(("glad", "sad")).identity()


@pytest.mark.parametrize("text", ["\u0663", "3.\u0665", "1_0", "\uff13", "nan", "inf", "3,5", "0x3", "3\u00a0"])
def test_a_number_has_ascii_digits_alone(text: str) -> None:
    with pytest.raises(ValueError, match="a number from 0 to 5"):
        GRADE.parse_label(text)
    with pytest.raises(ValueError, match="a finite number"):
        GRADE.parse(text)


@pytest.mark.parametrize(("text", "number"), [("3", 3.0), (" 2.50 ", 2.5), ("+1.", 1.0), (".5e0", 0.5), ("4E-1", 0.4)])
def test_decimal_numbers_are_read(text: str, number: float) -> None:
    assert GRADE.parse_label(text) == GRADE.parse(text) == number
