"""Arrow arrays made of Python values, without pandas: `pyarrow.array` imports pandas where it is installed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_LARGEST = 2**31 - 1
"""Most bytes of text, or values of lists, in one Arrow array with offsets of 32 bits."""


def arrow_array(values: Sequence[Any], kind: pa.DataType | None = None) -> pa.Array | pa.ChunkedArray:
    """Give what `pyarrow.array` gives for texts, numbers and lists of them; without a type, it is inferred.

    Other values, for example None, are given to `pyarrow.array`, which imports pandas: half a second of CPU time.
    """
    import pyarrow as pa

    array = _built(values, kind or _inferred(values))
    return pa.array(values, kind) if array is None else array


def _inferred(values: Sequence[Any]) -> pa.DataType | None:
    """Return the type that Arrow infers for texts or numbers of one type; None for other values."""
    import pyarrow as pa

    types = set(map(type, values))
    kinds = {str: pa.string(), int: pa.int64(), float: pa.float64()}
    return kinds.get(types.pop()) if len(types) == 1 else None


def _built(values: Sequence[Any], kind: pa.DataType | None) -> pa.Array | None:
    """Build an array of a type from its buffers; None where this function cannot."""
    import numpy as np
    import pyarrow as pa

    if kind is None or not len(values):
        return None
    if pa.types.is_string(kind) and set(map(type, values)) == {str}:
        texts = [value.encode() for value in values]
        if (offsets := _offsets(texts)) is None:
            return None
        return pa.Array.from_buffers(kind, len(texts), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(texts))])
    numbers = {pa.int64(): (int, np.int64), pa.float64(): (float, np.float64)}
    if kind in numbers and set(map(type, values)) == {numbers[kind][0]}:
        try:
            content = np.array(values, dtype=numbers[kind][1])
        except OverflowError:
            return None
        return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(content)])
    if pa.types.is_list(kind) and set(map(type, values)) <= {list, tuple}:
        offsets, items = _offsets(values), _built(list(chain.from_iterable(values)), kind.value_type)
        if offsets is not None and items is not None:
            return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(offsets)], children=[items])
    return None


def _offsets(values: Sequence[Any]) -> np.ndarray | None:
    """Return the places in the joined values at which each begins, int32 (values + 1,); None if they are too many."""
    import numpy as np

    ends = np.cumsum(np.fromiter(map(len, values), dtype=np.int64, count=len(values)))
    return None if ends[-1] > _LARGEST else np.concatenate([[0], ends]).astype(np.int32)
