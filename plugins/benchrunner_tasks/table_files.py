"""Files of tables by their kinds: the suffixes of their names, the sources that read them, and Parquet."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner import DataError, JsonTable, TextTable, quoted, sources

if TYPE_CHECKING:
    import pyarrow as pa

TABLE_SUFFIXES: Mapping[str, str] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
}
"""Suffix -> kind of the table."""
_MOST_ROWS, _MOST_BYTES, _ROWS_AT_ONCE = 1 << 26, 1 << 31, 1 << 10
"""Limits of a Parquet file: a value that repeats takes no room in it, and all of its size in memory."""


def table_file(kind: str, path: Path, columns: Mapping[str, str], encoding: str = "utf-8") -> sources.TableFile:
    """Return the source of a table of a kind, such as "csv"."""
    table: sources.TableFile
    if kind == "parquet":
        table = ParquetTable(str(path), columns)
    elif kind == "jsonl":
        table = JsonTable(str(path), columns, encoding=encoding)
    elif kind == "csv":
        table = TextTable(str(path), columns, encoding=encoding, separator=",", quoted=True)
    else:
        table = TextTable(str(path), columns, encoding=encoding)
    return table.at(path)


def keys_of(place: str, schema: pa.Schema, origin: str) -> list[str]:
    """Return the column that a place such as `a.b` names, and the keys inside of its values, from a table's schema.

    Raises a `DataError` that names `origin` where one of them is not there, or is there twice.
    """
    import pyarrow as pa

    keys = [place] if place in schema.names else place.split(".")
    level = pa.struct(schema)
    for key in keys:
        places = level.get_all_field_indices(key) if pa.types.is_struct(level) else []
        if len(places) != 1:
            raise DataError(
                f"{origin} has {len(places) or 'no'} columns named {quoted(place)}; it has {', '.join(schema.names)}."
            )
        level = level.field(places[0]).type
    return keys


def value_at(value: Any, keys: Sequence[str]) -> Any:
    """Return the value that a nested object has at keys, one inside of the other; None where an object is missing."""
    for key in keys:
        value = None if value is None else value[key]
    return value


@dataclass(frozen=True)
class ParquetTable(sources.TableFile):
    """A Parquet file. The column `a.b` is the part `b` of the column `a`."""

    def column_names(self, path: Path) -> Sequence[str]:
        import pyarrow.parquet as pq

        with _told(path):
            return list(pq.read_schema(path).names)

    def fill(self, path: Path, columns: Mapping[str, list[Any]], notes: list[str]) -> list[int]:
        import pyarrow.parquet as pq

        size = 0
        with _told(path):
            file = pq.ParquetFile(path)
            places = {name: keys_of(place, file.schema_arrow, str(path)) for name, place in self.columns.items()}
            for part in file.iter_batches(_ROWS_AT_ONCE, columns=sorted({top for top, *_ in places.values()})):
                size += part.nbytes
                if size > _MOST_BYTES or file.metadata.num_rows > _MOST_ROWS:
                    raise ValueError(
                        f"it has {file.metadata.num_rows:,} rows; at most {_MOST_ROWS:,} are read, and {_MOST_BYTES:,} "
                        "bytes in memory"
                    )
                rows = part.to_pylist()
                for name, keys in places.items():
                    columns[name] += [value_at(row, keys) for row in rows]
        return []


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Raise a `DataError` that names the file in place of an error that its reading raises."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise DataError(f"{path}: cannot be read as a Parquet file: {reason.rstrip('.')}.") from None
