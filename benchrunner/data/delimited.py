"""Read delimited text files: TSV as the official benchmarks write it, and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from benchrunner.data.sources import TableFile
from benchrunner.errors import DataError
from benchrunner.io.files import read_text
from benchrunner.io.messages import quoted, some_names

Records = Iterator[tuple[int, list[str]]]
"""The line on which each record begins, counted from 1, and its fields."""


@dataclass(frozen=True)
class TextTable(TableFile):
    """A delimited text file below the user's data folder. Its format is stated here and never guessed."""

    names: tuple[str, ...] | None = None
    """Names of the file's columns, for a file without a header line."""
    separator: str = "\t"
    """Separator between columns."""
    quoted: bool = False
    """True: quotes enclose fields, as in CSV. False: quotes are text, which the official TSV files need."""
    counted: str | None = None
    """File column that must count 0, 1, 2, ..., so that a reordered test file is an error."""
    breaks_inside_fields: bool = False
    """True drops records that are broken across lines inside a field, with a note. False makes them an error."""

    def unlabelled(self, label_columns: Collection[str]) -> Self:
        """Leave out no row of a user's own file, and expect no order: each of its rows wants an answer."""
        return replace(super().unlabelled(label_columns), counted=None, breaks_inside_fields=False)

    def column_names(self, path: Path) -> Sequence[str]:
        names, _ = self._opened(path)
        return names

    def fill(self, path: Path, columns: Mapping[str, list[Any]], notes: list[str]) -> list[int]:
        names, records = self._opened(path)
        places = [(columns[name], _position(path, names, column)) for name, column in self.columns.items()]
        counter = None if self.counted is None else _position(path, names, self.counted)
        lines = list[int]()
        for line, fields in self._whole(path, len(names), records, notes):
            if counter is not None and fields[counter] != str(len(lines)):
                raise DataError(
                    f"{path}:{line}: column '{self.counted}' must count the rows from 0: "
                    f"expected {len(lines)}, found {quoted(fields[counter])}. Is the file reordered or cut?"
                )
            for values, position in places:
                values.append(fields[position])
            lines.append(line)
        return lines

    def _opened(self, path: Path) -> tuple[Sequence[str], Records]:
        """Return the names of a file's columns, and the records below its header."""
        text = read_text(path, encoding=self.encoding)
        if not text.strip():
            raise DataError(
                f"{path}:1: the file is empty; {'rows were' if self.names else 'a header line was'} expected."
            )
        records = _csv(path, text, self.separator) if self.quoted else _lines(text, self.separator)
        return self.names or next(records)[1], records

    def _whole(self, path: Path, width: int, records: Records, notes: list[str]) -> Records:
        """Yield the records that have as many fields as the file has columns; raise a `DataError` for others."""
        pieces = list[tuple[int, list[str]]]()
        broken = list[int]()
        for line, fields in records:
            if len(fields) == width and not pieces:
                yield line, fields
                continue
            pieces.append((line, fields))
            # A line break inside a field adds no separator: the pieces together have as many as a whole record.
            columns = 1 + sum(len(piece) - 1 for _, piece in pieces)
            if not self.breaks_inside_fields or columns > width or len(fields) == width:
                break
            if columns == width or (fields == [""] and len(pieces) == 1):
                broken.append(pieces[0][0])
                pieces = []
        if pieces:
            line, fields = pieces[0]
            count = "an empty line" if fields in ([], [""]) else len(fields)
            raise DataError(f"{path}:{line}: expected {width} columns, found {count}.")
        if broken:
            notes.append(
                f"dropped {len(broken)} broken record(s), as the official file is known to hold "
                f"(line {', '.join(map(str, broken))})"
            )


def _position(path: Path, names: Sequence[str], column: str) -> int:
    """Return the place of a column, or raise a `DataError` if the file has none or two of this name."""
    if names.count(column) > 1:
        raise DataError(f"{path}:1: the header has the column {quoted(column)} twice: rename one of them.")
    if column not in names:
        raise DataError(f"{path}:1: no column '{column}' in the header; it has {some_names(names)}.")
    return names.index(column)


def _lines(text: str, separator: str) -> Records:
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        yield number, line.removesuffix("\r").split(separator)


def _csv(path: Path, text: str, separator: str) -> Records:
    # Empty lines at the end are no records; one in the middle is a record without fields.
    reader = csv.reader(io.StringIO(text.rstrip("\r\n"), newline=""), delimiter=separator, strict=True)
    line = 1
    try:
        for fields in reader:
            yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        reason = f"not valid CSV: {error}."
        if "field limit" in str(error):  # usually an unclosed quote: the field is then the rest of the file
            reason = f"a field of over {csv.field_size_limit():,} characters; is a quote left open?"
        raise DataError(f"{path}:{line}: {reason}") from None
