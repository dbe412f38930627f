"""Rows of one split of a data set, with the file and line each row came from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from benchrunner.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Rows:
    """One split's rows, and where each of them was read."""

    table: pa.Table
    origin: str
    """The file or the hub data set, for people."""
    lines: Sequence[int] | None = None
    """The line of the file on which each row begins, counted from 1."""
    notes: tuple[str, ...] = ()
    """What was left out or is unusual, one sentence each."""

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def where(self, row: int) -> str:
        """A place that a person can open: file and line, or data set and row."""
        return f"{self.origin}:{self.lines[row]}" if self.lines is not None else f"{self.origin}, row {row}"

    def without(self, bad: Mapping[int, str]) -> Rows:
        """The others, and a note that says which were left out and why: row -> what is wrong with it."""
        kept = [row for row in range(len(self)) if row not in bad]
        if not kept:
            raise DataError(f"{self.origin}: none of its {len(self):,} rows can be used.")
        lines = None if self.lines is None else [self.lines[row] for row in kept]
        places = "; ".join(f"{self.where(row)}, {bad[row]}" for row in sorted(bad)[:3]) + "; ..." * (len(bad) > 3)
        note = f"left out {len(bad):,} bad row(s), as asked: {places}"
        return Rows(self.table.take(kept), self.origin, lines, (*self.notes, note))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content alone: the same rows from a file and from the hub are the same data."""
        return fingerprint(self.table)


def fingerprint(table: pa.Table) -> str:
    """A hash of a table's column names, types and values, whatever its chunks; straight from Arrow's buffers."""
    digest = hashlib.sha256()
    for name in sorted(table.column_names):
        column = table.column(name)
        for part in (name.encode(), str(column.type).encode(), *_content(column)):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    return digest.hexdigest()


def _content(column: pa.ChunkedArray) -> Iterator[bytes | memoryview]:
    """Which values are missing, how long each text is, and all values one after another."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    yield column.is_null().to_numpy().tobytes()
    if not pa.types.is_string(column.type):
        yield repr(column.to_pylist()).encode()
        return
    # Each chunk for itself: together they may hold more than a plain string array can count.
    chunks = [pc.fill_null(one, "").cast(pa.large_binary()) for one in column.chunks]
    texts = pa.concat_arrays(chunks) if chunks else pa.array([], pa.large_binary())
    _, offsets, content = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    yield np.diff(ends).tobytes()
    yield memoryview(content)[ends[0] : ends[-1]] if content is not None else b""
