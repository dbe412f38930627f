"""Arrow arrays made of Python values, without pandas: `pyarrow.array` imports pandas where it is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_LARGEST = 2**31 - 1
"""Most bytes of text, or values of lists, in one Arrow array with offsets of 32 bits."""


def arrow_table(columns: Mapping[str, Sequence[Any]], kind: pa.DataType) -> pa.Table:
    """Make a table whose columns all have one type."""
    import pyarrow as pa

    return pa.table({name: arrow_array(values, kind) for name, values in columns.items()})


def arrow_array(values: Sequence[Any], kind: pa.DataType | None = None) -> pa.Array | pa.ChunkedArray:
    """Give what `pyarrow.array` gives for texts, numbers and lists of them; without a type, it is inferred.

    Other values, for example None, are given to `pyarrow.array`, which imports pandas: half a second of CPU time.
    """
    import pyarrow as pa

    array = _built(values, kind or _inferred(values))
    return pa.array(values, kind) if array is None else array


def list_starts(column: pa.ChunkedArray) -> np.ndarray:
    """Return the place of each row's first value among the values of all rows, then their number: int64 (rows + 1,)."""
    import numpy as np
    import pyarrow.compute as pc

    counts = pc.list_value_length(column).to_numpy()
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _inferred(values: Sequence[Any]) -> pa.DataType | None:
    """Return the type that Arrow infers for texts or numbers of one type; None for other values."""
    import pyarrow as pa

    kinds = {str: pa.string(), int: pa.int64(), float: pa.float64()}
    types = set(map(type, values))
    return kinds.get(types.pop()) if len(types) == 1 else None


def _built(values: Sequence[Any], kind: pa.DataType | None) -> pa.Array | None:
    """Build an array of a type from its buffers; None where this function cannot."""
    import numpy as np
    import pyarrow as pa

    if kind is None or not len(values):
        return None
    types = set(map(type, values))
    if pa.types.is_string(kind) and types == {str}:
        texts = [value.encode() for value in values]
        offsets = _offsets(texts)
        if offsets is None:
            return None
        return pa.Array.from_buffers(kind, len(texts), [None, offsets, pa.py_buffer(b"".join(texts))])
    if (kind == pa.int64() and types == {int}) or (kind == pa.float64() and types == {float}):
        try:
            content = np.array(values, dtype=np.int64 if kind == pa.int64() else np.float64)
        except OverflowError:
            return None
        return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(content)])
    if pa.types.is_list(kind) and types <= {list, tuple}:
        offsets = _offsets(values)
        items = _built(list(chain.from_iterable(values)), kind.value_type)
        if offsets is not None and items is not None:
            return pa.Array.from_buffers(kind, len(values), [None, offsets], children=[items])
    return None


def _offsets(values: Sequence[Any]) -> pa.Buffer | None:
    """Return the places in the joined values at which each begins, int32 (values + 1,); None if they are too many."""
    import numpy as np
    import pyarrow as pa

    offsets = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum([len(value) for value in values], out=offsets[1:])
    return pa.py_buffer(offsets.astype(np.int32)) if offsets[-1] <= _LARGEST else None
