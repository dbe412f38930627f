"""Rows of one split of a data set, with the file and line each row came from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from benchrunner.errors import DataError
from benchrunner.io.messages import quoted, some_names

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

ROWS_AT_ONCE = 16_384
"""Number of rows that are Python's values at once: these take several times the memory of a table."""


@dataclass(frozen=True)
class Rows:
    """The rows of a split, and the places they were read from."""

    table: pa.Table
    origin: str
    """File or hub data set, for messages."""
    lines: Sequence[int] | None = None
    """Line of the file on which each row begins, counted from 1; None for rows that are not from a file."""
    notes: tuple[str, ...] = ()
    """Remarks for the user, for example which rows were left out; one sentence each."""
    limit: int | None = None
    """Number of rows that were taken of a dev split; None for the whole split."""

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def where(self, row: int) -> str:
        """Describe for messages where a row was read: file and line, or data set and row."""
        return f"{self.origin}:{self.lines[row]}" if self.lines is not None else f"{self.origin}, row {row}"

    def require(self, columns: Iterable[str]) -> None:
        """Raise a `DataError` with the names of those of the columns that the rows lack."""
        names = self.table.column_names
        if missing := [name for name in columns if name not in names]:
            raise DataError(f"{self.origin}: no column {', '.join(missing)}; found {some_names(names)}.")

    def texts(self, column: str) -> list[str]:
        """Return the values of a column, or raise a `DataError` for the first value that is no text."""
        texts: list[str] = self.table.column(column).to_pylist()
        for row, text in enumerate(texts):
            if not isinstance(text, str):
                raise DataError(f"{self.where(row)}: column '{column}' must be text, found {quoted(text)}.")
        return texts

    def text_column(self, name: str) -> pa.Array | pa.ChunkedArray:
        """Return a column whose values are texts, or raise the error of `texts`; no text is copied that Arrow keeps."""
        import pyarrow as pa

        column = self.table.column(name)
        is_text = pa.types.is_string(column.type) and not column.null_count
        return column if is_text else arrow_array(self.texts(name), pa.string())

    def text_lists(self, column: str, *, count: int | None = None) -> list[list[str]]:
        """Return a column of lists of `count` texts, or of one text or more, or raise a `DataError`."""
        expected = "be a list of one text or more" if count is None else f"hold {count} texts"
        lists: list[list[str]] = self.table.column(column).to_pylist()
        for row, texts in enumerate(lists):
            if not isinstance(texts, list) or not texts or len(texts) != (count or len(texts)):
                raise DataError(f"{self.where(row)}: column '{column}' must {expected}, found {quoted(texts)}.")
            for text in texts:
                if not isinstance(text, str):
                    holds = f"must hold {count or 'nothing but'} texts"
                    raise DataError(f"{self.where(row)}: column '{column}' {holds}, found {quoted(text)}.")
        return lists

    def labels(self, column: str, parse: Callable[[Any], Any], *, required: bool) -> list[Any] | None:
        """Read the labels of a column with `parse`; return None if they are not `required` and no row has a label.

        A label that `parse` refuses with a `ValueError` becomes a `DataError` that names the row.
        """
        labels = self.table.column(column).to_pylist() if column in self.table.column_names else []
        if not required and all(label is None for label in labels):
            return None
        parsed = []
        for row, label in enumerate(labels):
            try:
                parsed.append(parse(label))
            except ValueError as expected:
                raise DataError(f"{self.where(row)}: {column} {quoted(label)} is not {expected}.") from None
        return parsed

    def without(self, bad: Mapping[int, str]) -> Rows:
        """Return the other rows, with a note that names the bad rows. `bad` maps a row to what is wrong with it."""
        kept = [row for row in range(len(self)) if row not in bad]
        if not kept:
            raise DataError(f"{self.origin}: none of its {len(self):,} rows can be used.")
        places = [f"{self.where(row)}, {bad[row]}" for row in sorted(bad)[:3]]
        more = "; ..." if len(bad) > 3 else ""
        note = f"left out {len(bad):,} bad row(s), as asked: {'; '.join(places)}{more}"
        return replace(self.taken(kept), notes=(*self.notes, note))

    def taken(self, numbers: Sequence[int]) -> Rows:
        """Return the rows with these numbers, counted from 0, in this order."""
        lines = self.lines and [self.lines[row] for row in numbers]
        return replace(self, table=self.table.take(arrow_array(numbers)), lines=lines)

    def column(self, name: str, values: Sequence[Any]) -> pa.Array | pa.ChunkedArray:
        """Make a column of a value for each row; raise a `DataError` if the values are not of one kind, or missing."""
        import pyarrow as pa

        types = dict.fromkeys(map(type, values))  # in the order of the rows
        kinds = list(dict.fromkeys(filter(None, map(_KINDS.get, types))))
        if len(kinds) > 1:
            row = next(row for row, value in enumerate(values) if _kind(value) == kinds[1])
            raise DataError(
                f"{self.where(row)}: {quoted(name)} is {kinds[1]} here, and {kinds[0]} in an earlier row; all values "
                "must be of one kind."
            )
        try:
            return arrow_array(values)
        except UnicodeEncodeError:
            row = next(row for row, value in enumerate(values) if _has_lone_surrogate(value))
            raise DataError(
                f"{self.where(row)}: {quoted(name)} has half of a surrogate pair, which is not text."
            ) from None
        except (pa.ArrowException, OverflowError) as error:
            raise DataError(f"{self.origin}: {quoted(name)} has values that do not fit together: {error}.") from None

    def groups(self, columns: Sequence[str]) -> list[str]:
        """Return for each row what tells its group from others: rows of a group have equal values in these columns.

        A split that lacks a column, whose rows a metric does not score, has groups of one row.
        """
        if not set(columns) <= set(self.table.column_names):
            return [str(row) for row in range(len(self))]
        return [repr(values) for values in self.table.select(columns).to_pylist()]

    def units(self, kept_together: Iterable[Sequence[str]]) -> list[list[int]]:
        """Return the numbers of the rows that must stay together: those that are in one group of some of these columns.

        See `groups`.
        """
        parents = list(range(len(self)))

        def root(row: int) -> int:
            while parents[row] != row:
                parents[row] = parents[parents[row]]  # halves the way for the next search
                row = parents[row]
            return row

        for columns in kept_together:
            first_rows = dict[str, int]()
            for row, group in enumerate(self.groups(columns)):
                parents[root(row)] = root(first_rows.setdefault(group, row))
        units = dict[int, list[int]]()
        for row in range(len(self)):
            units.setdefault(root(row), []).append(row)
        return list(units.values())

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the content alone, so that equal rows from a file and from the hub are the same data."""
        return fingerprint(self.table)

    @property
    def column_fingerprints(self) -> dict[str, str]:
        """Hash of the content of each column, by its name."""
        return {name: fingerprint(self.table.select([name])) for name in self.table.column_names}


def fingerprint(table: pa.Table) -> str:
    """Hash the column names, types and values of a table. The division into chunks does not matter."""
    digest = hashlib.sha256()
    for name in sorted(table.column_names):
        column = table.column(name)
        for part in (name.encode(), str(column.type).encode(), *_content(column)):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    return digest.hexdigest()


def _content(column: pa.ChunkedArray) -> Iterator[bytes | memoryview]:
    """Yield the content of a column as bytes: missing values, lengths of texts, and all values in order."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    # One byte for each row. `to_numpy` and `fill_null` import pandas; few columns have missing values.
    yield column.is_null().to_numpy().tobytes() if column.null_count else bytes(len(column))
    if not pa.types.is_string(column.type):
        yield repr(column.to_pylist()).encode()
        return
    chunks = []
    for chunk in column.chunks:  # cast one by one: together they may be longer than a plain string array's 2 GB
        filled = pc.fill_null(chunk, "") if chunk.null_count else chunk
        chunks.append(filled.cast(pa.large_binary()))
    texts = pa.concat_arrays(chunks) if chunks else pa.array([], pa.large_binary())
    _, offsets, content = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    yield np.diff(ends).tobytes()
    yield memoryview(content)[ends[0] : ends[-1]] if content is not None else b""


_LARGEST = 2**31 - 1
"""Most bytes of text, or values of lists, in one Arrow array with offsets of 32 bits."""


def arrow_table(columns: Mapping[str, Sequence[Any]], kind: pa.DataType) -> pa.Table:
    """Make a table whose columns all have one type."""
    import pyarrow as pa

    arrays = {name: arrow_array(values, kind) for name, values in columns.items()}
    return pa.table(arrays)


def arrow_array(values: Sequence[Any], kind: pa.DataType | None = None) -> pa.Array | pa.ChunkedArray:
    """Give what `pyarrow.array` gives for texts, numbers and lists of them; without a type, it is inferred.

    Other values, for example None, are given to `pyarrow.array`, which imports pandas: half a second of CPU time.
    """
    import pyarrow as pa

    array = _built(values, kind or _inferred(values))
    return pa.array(values, kind) if array is None else array


_KINDS = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}
"""Types of values -> how messages call them."""


def _kind(value: Any) -> str | None:
    """Name the JSON kind of a value; None for a missing value."""
    return _KINDS.get(type(value))


def _has_lone_surrogate(value: Any) -> bool:
    """Whether a text, or a text inside of a list or an object, cannot be encoded."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


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
