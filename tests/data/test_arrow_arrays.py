"""Arrow arrays are those of `pyarrow.array`, and a whole fit imports no pandas for them."""

import datetime
from typing import Any

import pyarrow as pa
import pytest

from benchrunner.data.rows import arrow_array

LISTS, NESTED = pa.list_(pa.string()), pa.list_(pa.list_(pa.int64()))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", "", "Zürich", "日本 \U0001f600", "a\x00b"], pa.string()),
        (["a", "b"], None),
        ([0, -(2**63), 2**63 - 1], None),
        ([1, 2], pa.int64()),
        ([0.5, float("inf"), -0.0], None),
        ([["a", "bc"], [], ["d"]], LISTS),
        ([("a", "b"), ["c"]], LISTS),
        ([[[0, 1], [2]], [], [[3, 4]]], NESTED),
        ([], pa.string()),
        ([], None),
        ([["a"], None], LISTS),
        ([[], []], LISTS),
        (["a", None], pa.string()),
        ([1, 2.5], None),
        ([True, False], None),
        ([1, 2], pa.int8()),
        ([datetime.date(2020, 1, 1)], None),
    ],
)
def test_arrays_are_those_of_pyarrow(values: list[Any], kind: pa.DataType | None) -> None:
    array, expected = arrow_array(values, kind), pa.array(values, kind)
    array.validate(full=True)
    assert array.type == expected.type and array.equals(expected) and array.to_pylist() == expected.to_pylist()


@pytest.mark.parametrize(("values", "kind"), [([1], pa.string()), (["a"], pa.int64()), ([1], LISTS), ([2**64], None)])
def test_values_of_another_type_are_refused_alike(values: list[Any], kind: pa.DataType | None) -> None:
    with pytest.raises((pa.ArrowInvalid, pa.ArrowTypeError, OverflowError)) as expected:
        pa.array(values, kind)
    with pytest.raises(expected.type):
        arrow_array(values, kind)
