"""Where rows come from: delimited files with their quirks, data sets on the hub, or a plugin's own function."""

from __future__ import annotations

import csv
import hashlib
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner.errors import DataError
from benchrunner.places import Places

if TYPE_CHECKING:
    import pyarrow as pa


class NotThere(DataError):
    """This source has nothing here; the next one is asked. The message says where it looked."""


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


def found_below(places: Places, names: Sequence[str]) -> Path:
    """The first file of these names, or `NotThere`; a name that is a whole path already needs no data folder."""
    if places.data is None and not all(Path(name).is_absolute() for name in names):
        raise NotThere(f"no data folder with {names[0]}: give --data DIR or set BENCHRUNNER_DATA")
    found = next((path for name in names if (path := (places.data or Path()) / name).is_file()), None)
    if found is None:
        raise NotThere(f"no file {usual_places(places, names)}")
    return found


def usual_places(places: Places, names: Sequence[str]) -> str:
    """Where `found_below` looks, for messages."""
    first, others = str((places.data or Path()) / names[0]), len(names) - 1
    return f"{first} (or {others} other usual place{'s' * (others > 1)})" if others else first


def read_text(path: Path, advice: str = "convert the file and try again.") -> str:
    """A UTF-8 file without its byte order mark, or a `DataError` with the line that is none."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DataError(f"{path}:{line}: not UTF-8 text ({error.reason}); {advice}") from None


class Source(ABC):
    """One place that may hold a split's rows."""

    @abstractmethod
    def where(self, places: Places) -> str:
        """Where this source would look, for messages."""

    @abstractmethod
    def read(self, places: Places) -> Rows:
        """The rows, or `NotThere`."""

    def at(self, path: Path) -> Source | None:
        """The same layout in a file that the user names, or None where this source reads no files."""
        return None

    def unlabelled(self) -> Source:
        """The same without its labels, for a user's own questions; itself where labels may be missing anyway."""
        return self


@dataclass(frozen=True)
class RowsFrom(Source):
    """A plugin's own reader: a function from the places to a mapping of columns."""

    function: Callable[[Places], Mapping[str, Sequence[object]]]

    def where(self, places: Places) -> str:
        return f"{self.function.__module__}.{self.function.__qualname__}"

    def read(self, places: Places) -> Rows:
        import pyarrow as pa

        return Rows(pa.table(dict(self.function(places))), self.where(places))


@dataclass(frozen=True)
class Reshaped(Source):
    """Another source whose columns become others: four columns one list, two texts one."""

    source: Source
    columns: Callable[[pa.Table], pa.Table]
    """From the source's table to the task's, row by row in the same order."""

    def where(self, places: Places) -> str:
        return self.source.where(places)

    def read(self, places: Places) -> Rows:
        found = self.source.read(places)
        return Rows(self.columns(found.table), found.origin, found.lines, found.notes)

    def at(self, path: Path) -> Source | None:
        moved = self.source.at(path)
        return None if moved is None else Reshaped(moved, self.columns)

    def unlabelled(self) -> Source:
        return Reshaped(self.source.unlabelled(), self.columns)


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

    def where(self, places: Places) -> str:
        return usual_places(places, self._names)

    def read(self, places: Places) -> Rows:
        import pyarrow as pa

        found = found_below(places, self._names)
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


@dataclass(frozen=True)
class HubTable(Source):
    """One split of a data set on the hub, read through `datasets`."""

    repository: str
    configuration: str
    """Empty where there is but one."""
    split: str
    columns: Mapping[str, str]
    """Our column -> the data set's column."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The hub's name of a label -> the task's. Numbers are never mapped: their order is the hub's own affair."""
    revision: str | None = None
    """A branch of the repository, where it is not the main one."""

    def where(self, places: Places) -> str:
        return f"hub {self.repository} ({', '.join(filter(None, (self.configuration, self.split)))})"

    def read(self, places: Places) -> Rows:
        import pyarrow as pa

        found = self._download(places)
        missing = [name for name in self.columns.values() if name not in found.column_names]
        if missing:
            has = ", ".join(found.column_names)
            raise DataError(f"{self.where(places)} has no column {', '.join(missing)}; it has {has}.")
        table = found.select_columns(list(self.columns.values())).with_format("arrow")[:]
        columns = {
            ours: _written(table.column(theirs), _label_names(found.features[theirs]))
            for ours, theirs in self.columns.items()
        }
        if "label" in columns and self.labels:
            columns["label"] = [self.labels.get(one, one) for one in columns["label"]]
        return Rows(pa.table(columns), self.where(places))

    def _download(self, places: Places) -> Any:
        import datasets
        from huggingface_hub import constants

        if places.offline and not constants.HF_HUB_OFFLINE:  # read when it was imported: too late to keep it offline
            raise NotThere(f"{self.where(places)} is not asked: these places are offline")
        quiet = datasets.is_progress_bar_enabled()
        datasets.disable_progress_bars()
        try:
            return datasets.load_dataset(
                self.repository, self.configuration or None, split=self.split, revision=self.revision
            )
        except Exception as error:  # datasets raises whatever its transport raised
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise NotThere(f"{self.where(places)} could not be read: {reason}") from error
        finally:
            if quiet:
                datasets.enable_progress_bars()


def _label_names(feature: Any) -> Sequence[str] | None:
    """The names of a hub column of labels, or of lists of labels."""
    names: Sequence[str] | None = getattr(getattr(feature, "feature", feature), "names", None)
    return names


def _written(column: pa.ChunkedArray, names: Sequence[str] | None) -> list[Any]:
    """A hub column's values as they were written before the hub stored them: label names, and short decimals."""
    import pyarrow as pa

    if names is not None:

        def named(value: Any) -> Any:
            if isinstance(value, list):
                return [named(one) for one in value]
            return None if value is None or value < 0 else names[value]

        return [named(value) for value in column.to_pylist()]
    if column.type == pa.float32():
        # The nearest float32 of somebody's decimal: its shortest spelling gives 4.2 back, not 4.199999809.
        return [None if one is None else float(one) for one in column.cast(pa.string()).to_pylist()]
    return list(column.to_pylist())
