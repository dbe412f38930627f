"""Read files with a word and its tags on each line, and a blank line between sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchrunner.data.iob_tags import as_iob2
from benchrunner.data.rows import Rows
from benchrunner.data.sources import FileSource
from benchrunner.errors import DataError, PluginError
from benchrunner.file_faults import quoted
from benchrunner.files import check_encoding, read_text
from benchrunner.workspace import Workspace

IOB_TAG = re.compile(r"O|[BI]-\S+")
"""Pattern of a tag: O, or B- or I- with the type of the phrase."""

Word = tuple[int, list[str]]
"""The line of a word, counted from 1, and its fields."""


@dataclass(frozen=True)
class WordColumns(FileSource):
    """A file with a word on each line, its tags beside it, and a blank line between sentences. A row is a sentence.

    The tags may be of any kind, such as parts of speech. Each column becomes a list with an entry for each word.
    """

    columns: Mapping[str, int] = field(default_factory=lambda: {"words": 0, "labels": -1})
    """Name of the task's column -> place of the file's column: 0 is the first, -1 the last."""
    iob: bool = False
    """Whether the labels are IOB tags, in the scheme IOB1 or IOB2. They are rewritten in IOB2."""
    separator: str | None = None
    """Separator between columns; None is any number of blanks and TABs."""
    border: str = "-DOCSTART-"
    """First field of a line that stands where a document begins. If there are such lines, the column `document` has the
    number of each sentence's document."""
    ignored: str = ""
    """Regular expression; a line that begins with a match is no word. "#|[0-9]+[-.]" skips comments and ranges."""
    encoding: str | tuple[str, ...] = "utf-8"
    """Encoding of the file, or several: the first in which the whole file is text."""
    label_column: str = "labels"
    """The task's column that `iob` applies to."""

    def __post_init__(self) -> None:
        if not self.columns or (isinstance(self.encoding, tuple) and not self.encoding):
            raise PluginError("WordColumns needs one column or more, and an encoding.")
        for encoding in self._encodings:
            check_encoding(encoding)
        try:
            re.compile(self.ignored)
        except re.error as error:
            raise PluginError(f"ignored is no regular expression: {quoted(self.ignored)}: {error}.") from None

    @property
    def _encodings(self) -> tuple[str, ...]:
        return (self.encoding,) if isinstance(self.encoding, str) else self.encoding

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa

        path = self.file(workspace)
        sentences, documents = list[list[Word]](), list[int]()
        for document, sentence in self._sentences(path):
            documents.append(document)
            sentences.append(sentence)
        if not sentences:
            raise DataError(f"{path}:1: no sentences; expected a word and its tags on each line.")
        self._check_width(path, sentences)
        columns = {
            name: [[fields[place] for _, fields in sentence] for sentence in sentences]
            for name, place in self.columns.items()
        }
        if self.iob and self.label_column in columns:
            columns[self.label_column] = self._iob2(path, sentences, columns[self.label_column])
        table = pa.table({name: pa.array(values, pa.list_(pa.string())) for name, values in columns.items()})
        if documents[-1] >= 0:  # the file has borders; sentences before the first are a document too
            table = table.append_column(
                "document", pa.array([number - documents[0] for number in documents], pa.int64())
            )
        return Rows(table, str(path), [sentence[0][0] for sentence in sentences])

    def _sentences(self, path: Path) -> Iterator[tuple[int, list[Word]]]:
        """Yield each sentence with the number of its document; -1 before the first border."""
        ignored = re.compile(self.ignored) if self.ignored else None
        document, sentence = -1, list[Word]()
        for number, line in enumerate(self._text(path).split("\n"), start=1):
            stripped = line.rstrip("\r") if self.separator is not None else line.strip(" \t\r")
            fields = stripped.split(self.separator) if self.separator is not None else stripped.split()
            is_border = bool(self.border) and fields[:1] == [self.border]
            if ignored is not None and ignored.match(stripped):
                continue
            if sentence and (is_border or not stripped.strip()):
                yield document, sentence
                sentence = []
            if is_border:
                document += 1
            elif stripped.strip():
                sentence.append((number, fields))
        if sentence:
            yield document, sentence

    def _text(self, path: Path) -> str:
        *others, last = self._encodings
        for encoding in others:
            try:
                return read_text(path, encoding=encoding)
            except DataError:
                continue
        return read_text(path, encoding=last)

    def _check_width(self, path: Path, sentences: list[list[Word]]) -> None:
        """Raise a `DataError` for the first line with too few columns, or with another number than the first line."""
        first, fields = sentences[0][0]
        width = len(fields)
        needed = max((place + 1 if place >= 0 else -place for place in self.columns.values()), default=1)
        if width < needed:
            raise DataError(f"{path}:{first}: found {width} columns; {needed} or more were expected.")
        for sentence in sentences:
            for line, fields in sentence:
                if len(fields) != width:
                    raise DataError(f"{path}:{line}: expected {width} columns as on line {first}, found {len(fields)}.")

    @staticmethod
    def _iob2(path: Path, sentences: list[list[Word]], tags: list[list[str]]) -> list[list[str]]:
        for sentence, sentence_tags in zip(sentences, tags, strict=True):
            for (line, _), tag in zip(sentence, sentence_tags, strict=True):
                if not IOB_TAG.fullmatch(tag):
                    raise DataError(f"{path}:{line}: found the tag {quoted(tag)}; expected O, B-TYPE or I-TYPE.")
        return [as_iob2(sentence_tags) for sentence_tags in tags]
