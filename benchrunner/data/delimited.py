"""Read delimited text files: TSV as the official benchmarks write it, and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchrunner.data.rows import Rows
from benchrunner.data.sources import Source, find_file, searched_paths
from benchrunner.errors import DataError
from benchrunner.files import read_text
from benchrunner.workspace import Workspace


@dataclass(frozen=True)
class TextTable(Source):
    """A delimited text file below the user's data folder, read line by line and never guessed at."""

    path: str | tuple[str, ...]
    """Relative to the data folder; the first that exists is read."""
    columns: Mapping[str, str]
    """Our column -> the file's column."""
    names: tuple[str, ...] | None = None
    """The file's columns where it has no header line."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The file's spelling of a label -> the task's; others stay as they are, for the problem to judge."""
    separator: str = "\t"
    quoted: bool = False
    """True reads quotes as CSV does. False takes them as text, which is what the official TSV files need."""
    counted: str | None = None
    """A column that must count 0, 1, 2, ...: a reordered test file is an error, not a wrong submission."""
    breaks_inside_fields: bool = False
    """The official file is known to hold records broken across lines inside a field: those are dropped, aloud."""

    @property
    def _names(self) -> tuple[str, ...]:
        return (self.path,) if isinstance(self.path, str) else self.path

    def at(self, path: Path) -> Source:
        return replace(self, path=str(path.absolute()))

    def unlabelled(self) -> Source:
        return replace(self, columns={name: column for name, column in self.columns.items() if name != "label"})

    def where(self, workspace: Workspace) -> str:
        return searched_paths(workspace, self._names)

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa

        found = find_file(workspace, self._names)
        records = _Records(found, self)
        columns: dict[str, list[str]] = {name: [] for name in self.columns}
        lines: list[int] = []
        for line, fields in records:
            for name, position in records.positions.items():
                columns[name].append(fields[position])
            if records.counter is not None and fields[records.counter] != str(len(lines)):
                raise DataError(
                    f"{found}:{line}: column '{self.counted}' must count the rows from 0: "
                    f"expected {len(lines)}, found '{fields[records.counter]}'. Is the file reordered or cut?"
                )
            lines.append(line)
        if "label" in columns and self.labels:
            columns["label"] = [self.labels.get(one, one) for one in columns["label"]]
        table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
        return Rows(table, str(found), lines, tuple(records.notes))


class _Records:
    """The records of one delimited file with their line numbers, its header understood."""

    def __init__(self, path: Path, shape: TextTable) -> None:
        self.path, self.shape, self.notes = path, shape, list[str]()
        text = self._text()
        self._records = self._csv(text) if shape.quoted else self._lines(text)
        self.names = self._header()
        self.positions = {ours: self._position(theirs) for ours, theirs in shape.columns.items()}
        self.counter = None if shape.counted is None else self._position(shape.counted)

    def _text(self) -> str:
        text = read_text(self.path)
        if not text.strip():
            wanted = "rows were" if self.shape.names else "a header line was"
            raise DataError(f"{self.path}:1: the file is empty; {wanted} expected.")
        return text

    def _header(self) -> tuple[str, ...]:
        return self.shape.names or tuple(next(self._records)[1])

    def _position(self, column: str) -> int:
        if column not in self.names:
            raise DataError(f"{self.path}:1: no column '{column}' in the header; it has {', '.join(self.names)}.")
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
            # A break inside a field adds a line and no separator: the pieces' separators add up to a whole record's.
            columns = 1 + sum(len(piece) - 1 for _, piece in pieces)
            if not self.shape.breaks_inside_fields or columns > width or len(fields) == width:
                raise self._ragged(*pieces[0])
            if columns == width or (fields == [""] and len(pieces) == 1):
                broken.append(pieces[0][0])
                pieces = []
        if pieces:
            raise self._ragged(*pieces[0])
        if broken:
            at = ", ".join(str(line) for line in broken)
            self.notes.append(
                f"dropped {len(broken)} broken record(s), as the official file is known to hold (line {at})"
            )

    def _ragged(self, line: int, fields: list[str]) -> DataError:
        found = "an empty line" if fields == [""] else str(len(fields))
        return DataError(f"{self.path}:{line}: expected {len(self.names)} columns, found {found}.")

    def _lines(self, text: str) -> Iterator[tuple[int, list[str]]]:
        for line, one in enumerate(text.removesuffix("\n").split("\n"), start=1):
            yield line, one.removesuffix("\r").split(self.shape.separator)

    def _csv(self, text: str) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self.shape.separator, strict=True)
        while True:
            line = reader.line_num + 1
            try:
                fields = next(reader, None)
            except csv.Error as error:
                if "field limit" in str(error):  # most often a quote is never closed, and the field is the file's rest
                    limit = f"{csv.field_size_limit():,} characters"
                    raise DataError(f"{self.path}:{line}: a field of over {limit}; is a quote left open?") from None
                raise DataError(f"{self.path}:{line}: not valid CSV: {error}.") from None
            if fields is None:
                return
            if fields:
                yield line, fields
