"""Read delimited text files: TSV as the official benchmarks write it, and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchrunner.data.rows import Rows, arrow_table
from benchrunner.data.sources import FileSource
from benchrunner.errors import DataError
from benchrunner.io.files import check_encoding, read_text
from benchrunner.io.messages import quoted, some_names
from benchrunner.workspace import Workspace


@dataclass(frozen=True)
class TextTable(FileSource):
    """A delimited text file below the user's data folder. Its format is stated here and never guessed."""

    columns: Mapping[str, str]
    """Name of the task's column -> name of the file's column."""
    names: tuple[str, ...] | None = None
    """Names of the file's columns, for a file without a header line."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Label in the file -> label of the task. Labels that are not listed stay as they are; the problem checks them."""
    separator: str = "\t"
    """Separator between columns."""
    quoted: bool = False
    """True: quotes enclose fields, as in CSV. False: quotes are text, which the official TSV files need."""
    counted: str | None = None
    """File column that must count 0, 1, 2, ..., so that a reordered test file is an error."""
    breaks_inside_fields: bool = False
    """True drops records that are broken across lines inside a field, with a note. False makes them an error."""
    label_column: str = "label"
    """The task's column that `labels` applies to."""
    encoding: str = "utf-8"
    """Encoding of the file, for example "latin-1"."""

    def __post_init__(self) -> None:
        check_encoding(self.encoding)

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa

        path = self.file(workspace)
        records = _Records(path, self)
        columns: dict[str, list[str]] = {name: [] for name in self.columns}
        lines = list[int]()
        for line, fields in records:
            for name, position in records.positions.items():
                columns[name].append(fields[position])
            if records.counter is not None and fields[records.counter] != str(len(lines)):
                raise DataError(
                    f"{path}:{line}: column '{self.counted}' must count the rows from 0: "
                    f"expected {len(lines)}, found {quoted(fields[records.counter])}. Is the file reordered or cut?"
                )
            lines.append(line)
        if self.labels and self.label_column in columns:
            columns[self.label_column] = [self.labels.get(label, label) for label in columns[self.label_column]]
        return Rows(arrow_table(columns, pa.string()), str(path), lines, tuple(records.notes))


class _Records:
    """The records of a delimited file with their line numbers, and the positions of the wanted columns."""

    def __init__(self, path: Path, source: TextTable) -> None:
        self.path = path
        self.source = source
        self.notes = list[str]()
        text = self._text()
        self._records = self._csv(text) if source.quoted else self._lines(text)
        self.names = source.names or tuple(next(self._records)[1])
        self.positions = {name: self._position(column) for name, column in source.columns.items()}
        self.counter = None if source.counted is None else self._position(source.counted)

    def _text(self) -> str:
        text = read_text(self.path, encoding=self.source.encoding)
        if not text.strip():
            raise DataError(
                f"{self.path}:1: the file is empty; "
                f"{'rows were' if self.source.names else 'a header line was'} expected."
            )
        return text

    def _position(self, column: str) -> int:
        if column not in self.names:
            raise DataError(f"{self.path}:1: no column '{column}' in the header; it has {some_names(self.names)}.")
        return self.names.index(column)

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        width = len(self.names)
        pieces = list[tuple[int, list[str]]]()
        broken = list[int]()
        for line, fields in self._records:
            if len(fields) == width and not pieces:
                yield line, fields
                continue
            pieces.append((line, fields))
            # A line break inside a field adds no separator: the pieces together have as many as a whole record.
            columns = 1 + sum(len(piece) - 1 for _, piece in pieces)
            if not self.source.breaks_inside_fields or columns > width or len(fields) == width:
                raise self._ragged(*pieces[0])
            if columns == width or (fields == [""] and len(pieces) == 1):
                broken.append(pieces[0][0])
                pieces = []
        if pieces:
            raise self._ragged(*pieces[0])
        if broken:
            self.notes.append(
                f"dropped {len(broken)} broken record(s), as the official file is known to hold "
                f"(line {', '.join(map(str, broken))})"
            )

    def _ragged(self, line: int, fields: list[str]) -> DataError:
        return DataError(
            f"{self.path}:{line}: expected {len(self.names)} columns, "
            f"found {'an empty line' if fields in ([], ['']) else len(fields)}."
        )

    def _lines(self, text: str) -> Iterator[tuple[int, list[str]]]:
        for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
            yield number, line.removesuffix("\r").split(self.source.separator)

    def _csv(self, text: str) -> Iterator[tuple[int, list[str]]]:
        # Empty lines at the end are no records; one in the middle is a record without fields.
        reader = csv.reader(io.StringIO(text.rstrip("\r\n"), newline=""), delimiter=self.source.separator, strict=True)
        while True:
            line = reader.line_num + 1
            try:
                fields = next(reader, None)
            except csv.Error as error:
                if "field limit" in str(error):  # usually an unclosed quote: the field is then the rest of the file
                    raise DataError(
                        f"{self.path}:{line}: a field of over {csv.field_size_limit():,} characters; is a quote left "
                        "open?"
                    ) from None
                raise DataError(f"{self.path}:{line}: not valid CSV: {error}.") from None
            if fields is None:
                return
            yield line, fields
