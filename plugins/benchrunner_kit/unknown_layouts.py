"""Rows of a data file of unknown layout, as `new task --from FILE` reads them before it guesses."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from benchrunner import DataError, RequestError, json_files

ROWS = 20_000
"""The most rows that are read."""
_BYTES = 1 << 26
"""The most bytes of a file that are read."""
_WORDS = (".conll", ".conllu", ".iob", ".iob2", ".bio")
"""Suffixes of files with a word on each line."""
Row = Mapping[str, Any]


def rows_of(path: Path, form: dict[str, Any], unsure: list[str]) -> list[Row]:
    """Read the first rows of a file; note in `form` how it is written where its suffix does not say that."""
    if not path.is_file():
        raise RequestError(f"{path}: {'this is a folder' if path.is_dir() else 'there is no such file'}.")
    suffix = path.suffix.lower()
    if suffix in _WORDS:
        raise RequestError(
            f"{path}: files with a word on each line are not guessed: write the task file by hand; docs/files.md has "
            "a whole example."
        )
    if suffix == ".parquet":
        return _parquet_rows(path)
    text = _text(path, form, unsure)
    if suffix in (".jsonl", ".ndjson", ".json"):
        return _objects(text, path)
    separator, is_quoted = _layout(text, suffix, form, unsure)
    return _fields(text, separator, path, is_quoted=is_quoted)


def _text(path: Path, form: dict[str, Any], unsure: list[str]) -> str:
    """Read the beginning of a text file, to the end of a line."""
    with path.open("rb") as file:
        content = file.read(_BYTES)
    if len(content) == _BYTES:
        content = content[: content.rfind(b"\n") + 1]
    if b"\0" in content:
        raise RequestError(f"{path}: not a text file: give CSV, TSV, JSON lines or Parquet.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        form["encoding"] = "latin-1"
        unsure.append("the file is not UTF-8, and was read as latin-1: correct format.encoding if letters are wrong")
        return content.decode("latin-1")


def _layout(text: str, suffix: str, form: dict[str, Any], unsure: list[str]) -> tuple[str, bool]:
    """Guess the separator, and whether quotes enclose fields."""
    header = text.partition("\n")[0]
    separator = max("\t,;|", key=header.count)
    usual = {".csv": ",", ".tsv": "\t"}.get(suffix)
    if usual is None:
        usual = "\t" if separator == "\t" else ","
        form["kind"] = "tsv" if usual == "\t" else "csv"
    if header.count(separator) and separator != usual:
        form["separator"] = separator
        unsure.append(f"fields are taken to be separated by {separator!r}: format.separator")
    else:
        separator = usual
    is_quoted = usual == ","
    enclosed = rf'(^|{re.escape(separator)})"[^"\n]*"({re.escape(separator)}|$)'
    if not is_quoted and re.search(enclosed, text[:100_000], re.MULTILINE):
        is_quoted = form["quoted"] = True
        unsure.append("quotes are taken to enclose fields: format.quoted")
    return separator, is_quoted


def _fields(text: str, separator: str, path: Path, *, is_quoted: bool) -> list[Row]:
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE
    rows: list[Row] = []
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, quoting=quoting)
        header = next(reader, [])
        for fields in reader:
            if fields and len(rows) < ROWS:
                rows.append(dict(zip(header, fields, strict=False)))
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: not valid CSV: {error}.") from None
    return rows


def _objects(text: str, path: Path) -> list[Row]:
    rows: list[Row] = []
    for number, line in enumerate(text.split("\n")[:ROWS], start=1):
        if line.strip():
            value = json_files.parse_json(line.encode(), path, line=number)
            if not isinstance(value, dict):
                raise DataError(f"{path}:{number}: expected a JSON object on each line.")
            rows.append(value)
    return rows


def _parquet_rows(path: Path) -> list[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        batches = pq.ParquetFile(path).iter_batches(batch_size=ROWS)
        first = next(batches, None)
        rows: list[Row] = [] if first is None else first.to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise RequestError(f"{path}: cannot be read as a Parquet file: {str(error).splitlines()[0][:200]}.") from None
    return rows
