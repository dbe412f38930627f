"""Formats of data files: which source reads a file, by its suffix or by the table [format], and its column names."""

from __future__ import annotations

import csv
import shlex
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

from benchrunner import DataError, DataNotFound, JsonTable, RequestError, Rows, Source, TextTable, Workspace, quoted
from benchrunner_kinds import WordColumns

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

SUFFIXES: Mapping[str, str] = {
    **{".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".parquet": "parquet"},
    **dict.fromkeys((".conll", ".iob", ".iob2", ".bio"), "words"),
}
_MOST_ROWS, _MOST_BYTES, _ROWS_AT_ONCE = 1 << 26, 1 << 31, 1 << 10
"""Limits of a Parquet file: a value that repeats takes no room in it, and all of its size in memory."""
_LINE = 1 << 20
"""The most characters of a header line."""


@final
@dataclass(frozen=True)
class Format:
    """How data files are written. A file of JSON has an object on each line."""

    kind: Literal["csv", "tsv", "jsonl", "parquet", "words"] | None = None
    """None: as the suffix of the file says."""
    encoding: str = "utf-8"
    separator: str | None = None
    """Stands between columns; by default a comma in CSV, a TAB in TSV, and blanks or TABs in files of words."""
    quoted: bool | None = None
    """Whether quotes enclose fields; by default in CSV alone."""
    header: tuple[str, ...] | None = None
    """Names of the columns of a file without a header line."""
    iob: bool = False
    """Whether the labels of a file of words are IOB tags, which may be in the scheme IOB1."""
    ignored: str = ""
    """Regular expression of lines of a file of words that are no words, such as comments."""

    def of(self, path: Path) -> Format | None:
        """Return the format of a file; None if neither the format nor the suffix of the file says its kind."""
        if self.kind is not None:
            return self
        kind: Any = SUFFIXES.get(path.suffix.lower())
        return None if kind is None else replace(self, kind=kind)


def reader(form: Format, path: Path, columns: Mapping[str, Any]) -> Source:
    """Return the source that reads columns of a file of a format, whose kind is known."""
    if form.kind == "words":
        return WordColumns(
            str(path),
            columns,
            iob=form.iob,
            separator=form.separator,
            ignored=form.ignored,
            encoding=form.encoding,
            is_in_data_folder=False,
        )
    if form.kind == "jsonl":
        return JsonTable(str(path), columns, encoding=form.encoding, is_in_data_folder=False)
    if form.kind == "parquet":
        return ParquetTable(str(path), columns)
    is_csv = form.kind == "csv"
    return TextTable(
        str(path),
        columns,
        names=form.header,
        separator=form.separator or ("," if is_csv else "\t"),
        quoted=is_csv if form.quoted is None else form.quoted,
        encoding=form.encoding,
        is_in_data_folder=False,
    )


@dataclass(frozen=True)
class ParquetTable(Source):
    """A Parquet file; a column such as `a.b` is read whole, as `a`, and its part is taken later."""

    path: str
    columns: Mapping[str, str]

    def where(self, workspace: Workspace) -> str:
        return self.path

    def at(self, path: Path) -> Source:
        return replace(self, path=str(path))

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not Path(self.path).is_file():
            raise DataNotFound(f"no file {self.path}")
        tops = {name: column.partition(".")[0] for name, column in self.columns.items()}
        parts, size = list[pa.RecordBatch](), 0
        try:
            file = pq.ParquetFile(self.path)
            for part in file.iter_batches(_ROWS_AT_ONCE, columns=sorted(set(tops.values()))):
                parts.append(part)
                size += part.nbytes
                if size > _MOST_BYTES or file.metadata.num_rows > _MOST_ROWS:
                    raise ValueError(
                        f"it has {file.metadata.num_rows:,} rows; at most {_MOST_ROWS:,} are read, and {_MOST_BYTES:,} "
                        "bytes in memory"
                    )
            table = pa.Table.from_batches(parts, None if parts else file.schema_arrow)
            arrays = {name: table.column(top).combine_chunks() for name, top in tops.items()}
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            raise _no_parquet(self.path, error) from None
        return Rows(pa.table(arrays), self.path)


def _no_parquet(path: str, error: Exception) -> DataError:
    reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
    return DataError(f"{path}: cannot be read as a Parquet file: {reason.rstrip('.')}.")


def column_names(source: TextTable | JsonTable | ParquetTable) -> list[str] | None:
    """Return the names of a file's columns; None where the source tells itself what is wrong with the file."""
    if isinstance(source, ParquetTable):
        return _names_of_parquet(source.path)
    if isinstance(source, TextTable) and source.names is not None:
        return list(source.names)
    encoding = "utf-8-sig" if source.encoding == "utf-8" else source.encoding
    try:
        with Path(str(source.path)).open(encoding=encoding, newline="\n") as file:
            line = file.readline(_LINE).rstrip("\r\n")
    except (OSError, ValueError):
        return None
    if not line or "\0" in line:
        return None
    if isinstance(source, TextTable):
        return _fields(line, source)
    from benchrunner import json_files

    try:
        first = json_files.parse_json(line.encode(), str(source.path), line=1)
    except (RequestError, UnicodeError):
        return None
    return list(first) if isinstance(first, dict) else None


def _fields(line: str, source: TextTable) -> list[str] | None:
    """Return the fields of a header line."""
    if not source.quoted:
        return line.split(source.separator)
    try:
        return next(csv.reader([line], delimiter=source.separator, strict=True), None)
    except csv.Error:  # a name with a line break
        return None


def _names_of_parquet(path: str) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _no_parquet(path, error) from None


def check_format(form: Format, path: Path) -> Format:
    """Return the format of a data file; a `ValueError` if nothing says what kind it has."""
    known = form.of(path)
    if known is None:
        kinds = ", ".join(SUFFIXES)
        raise ValueError(f"{quoted(path.name)} has none of the suffixes {kinds}: give [format] with a kind")
    return known


def check_words(source: WordColumns, path: Path, labels: Collection[str]) -> None:
    """Raise a `DataError` if a user's file, whose name does not say its layout, is sentences instead of words.

    Sentences of equal length could be taken for words with their tags. Words have TABs, known labels, or other words on
    the next line and a blank line after the sentence.
    """
    if Format().of(path) is not None or b"\t" in path.read_bytes():
        return
    sentences = [block for block in source.blocks(path) if not source.is_border(block)]
    words = list(chain.from_iterable(sentences))
    has_tags = all(len(fields) > 1 and fields[-1] in labels for _, fields in words)
    is_alone = len(words) == len(sentences) and len(words[0][1]) > 1
    if not has_tags and (len(sentences) == 1 or is_alone):
        raise DataError(f"{path}:1: expected a word on each line, and a blank line between sentences.")


def refuse_data_file(path: Path) -> None:
    """Raise a `RequestError` for a data file where a task is asked for; it says how its task file is made."""
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is not None and path.is_file():
        made = f"write its task file with 'benchrunner new task NAME --from {shlex.quote(str(path))}'"
        if kind == "words":
            made = "docs/files.md shows the task file of a file with a word on each line"
        raise RequestError(f"{path}: this is a data file, not a task: {made}.")
