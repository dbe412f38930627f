"""Rows of one split of a data set, with the file and line each row came from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from benchrunner.errors import DataError
from benchrunner.io.file_faults import shown, some_names

if TYPE_CHECKING:
    import pyarrow as pa


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
                raise DataError(f"{self.where(row)}: column '{column}' must be text, found {shown(text)}.")
        return texts

    def text_lists(self, column: str, *, count: int | None = None) -> list[list[str]]:
        """Return a column of lists of `count` texts, or of one text or more, or raise a `DataError`."""
        expected = "be a list of one text or more" if count is None else f"hold {count} texts"
        lists: list[list[str]] = self.table.column(column).to_pylist()
        for row, texts in enumerate(lists):
            if not isinstance(texts, list) or not texts or len(texts) != (count or len(texts)):
                raise DataError(f"{self.where(row)}: column '{column}' must {expected}, found {shown(texts)}.")
            for text in texts:
                if not isinstance(text, str):
                    holds = f"must hold {count or 'nothing but'} texts"
                    raise DataError(f"{self.where(row)}: column '{column}' {holds}, found {shown(text)}.")
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
                raise DataError(f"{self.where(row)}: {column} {shown(label)} is not {expected}.") from None
        return parsed

    def without(self, bad: Mapping[int, str]) -> Rows:
        """Return the other rows, with a note that names the bad rows. `bad` maps a row to what is wrong with it."""
        kept = [row for row in range(len(self)) if row not in bad]
        if not kept:
            raise DataError(f"{self.origin}: none of its {len(self):,} rows can be used.")
        lines = None if self.lines is None else [self.lines[row] for row in kept]
        places = [f"{self.where(row)}, {bad[row]}" for row in sorted(bad)[:3]]
        if len(bad) > 3:
            places.append("...")
        note = f"left out {len(bad):,} bad row(s), as asked: {'; '.join(places)}"
        return Rows(self.table.take(kept), self.origin, lines, (*self.notes, note))

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
