"""Sources of a corpus: text files, JSON lines, Parquet tables and hub data sets as streams of paragraphs.

A source yields paragraphs without line breaks; an empty paragraph ends a document.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

import pyarrow as pa
import pyarrow.parquet as pq

from benchrunner import DataError, quoted
from benchrunner.engine import first_line
from benchrunner_bert.pretraining.corpus.manifest import SourceFacts
from benchrunner_bert.pretraining.corpus.passages import SHORTEST, passages, passages_of_document
from benchrunner_bert.pretraining.corpus.text_blocks import (
    BAD,
    REPLACEMENT,
    decoded,
    file_facts,
    hashed,
    lines,
    unreadable,
)

HUB = "hub:"
"""Start of the name of a data set on the hub."""
WIKIPEDIA = "wikipedia"
"""Last part of the names of Wikipedia's data sets on the hub, such as wikimedia/wikipedia."""
FIELD = "text"
"""Field of JSON lines and column of tables that holds a document."""


class Source(ABC):
    """A file or data set."""

    name: str
    """Name in the manifest: a path without the folders above the file or folder that the user named."""
    passages_only: bool = False
    """Whether headings and list lines of extracted Wikipedia are left out."""

    @abstractmethod
    def facts(self) -> SourceFacts:
        """Read the whole source; give what identifies its content, and what was unusual in it."""

    @abstractmethod
    def paragraphs(self) -> Iterator[str]:
        """Give paragraphs without line breaks; an empty paragraph ends a document."""


@dataclass(frozen=True)
class FileOfTexts(Source):
    """A file; its lines are texts, unless a subclass reads another format."""

    path: Path
    name: str
    passages_only: bool = False

    def facts(self) -> SourceFacts:
        return file_facts(self.path, self.name)


@final
@dataclass(frozen=True)
class TextFile(FileOfTexts):
    """Plain text with one paragraph per line."""

    blank_lines: int = 1
    """Number of blank lines in a row that end a document; with 0, only the end of the file does."""

    def paragraphs(self) -> Iterator[str]:
        return passages(self._paragraphs()) if self.passages_only else self._paragraphs()

    def _paragraphs(self) -> Iterator[str]:
        blank = 0
        for line in lines(self.path):
            paragraph = line.strip()
            blank = 0 if paragraph else blank + 1
            if paragraph or blank == self.blank_lines:
                yield paragraph
        yield ""


@final
@dataclass(frozen=True)
class JsonLines(FileOfTexts):
    """One JSON object per line, each with a document. Line breaks in the document end paragraphs."""

    def paragraphs(self) -> Iterator[str]:
        for number, line in enumerate(lines(self.path, whole=True), start=1):
            if line.strip():
                yield from _document(self._text(line, number), self.passages_only)

    def _text(self, line: str, number: int) -> str:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:  # RecursionError: too many nested brackets
            raise DataError(f"{self.path}:{number}: not a line of JSON ({error}); repair or remove it.") from None
        text = value.get(FIELD) if isinstance(value, dict) else None
        if not isinstance(text, str):
            raise DataError(
                f'{self.path}:{number}: expected an object with a text, {{"{FIELD}": "..."}}, '
                f"found {quoted(line.strip())}."
            )
        return text


@final
@dataclass(frozen=True)
class Parquet(FileOfTexts):
    """A table with a column of documents."""

    def facts(self) -> SourceFacts:
        size, sha256 = hashed(self.path)
        bad_bytes = sum(decoded(raw)[1] for raw in self._raw())
        return SourceFacts(self.name, size=size, sha256=sha256, bad_bytes=bad_bytes)

    def paragraphs(self) -> Iterator[str]:
        for raw in self._raw():
            yield from _document(decoded(raw)[0], self.passages_only)

    def _raw(self) -> Iterator[bytes]:
        """Give the documents as bytes: some files hold texts that are not UTF-8, although the format demands it."""
        try:
            with pq.ParquetFile(self.path) as file:
                if FIELD not in file.schema_arrow.names:
                    columns = ", ".join(file.schema_arrow.names)
                    raise DataError(f"{self.path}: expected a column '{FIELD}'; it has {columns}.")
                for batch in file.iter_batches(batch_size=1024, columns=[FIELD]):
                    documents = batch.column(0).cast(pa.large_binary()).to_pylist()
                    yield from (document for document in documents if document is not None)
        except OSError as error:
            raise unreadable(self.path, error) from None
        except pa.ArrowException as error:
            raise DataError(f"{self.path}: not a readable parquet file of texts: {error}.") from None


@final
@dataclass(frozen=True)
class HubSet(Source):
    """A data set on the hub with one document per row. Rows are streamed: no whole data set is stored."""

    repository: str
    configuration: str = ""
    split: str = "train"
    revision: str | None = None
    """A commit, branch or tag of the repository; None is its newest commit."""
    passages_only: bool = False

    @property
    def name(self) -> str:  # type: ignore[override]
        return HUB + ",".join((self.repository, self.configuration, self.split))

    def facts(self) -> SourceFacts:
        return SourceFacts(self.name, revision=self._commit)

    def paragraphs(self) -> Iterator[str]:
        for number, row in enumerate(self._rows(), start=1):
            text = row.get(FIELD)
            if not isinstance(text, str):
                raise DataError(f"{self.name}, row {number}: expected a text in '{FIELD}'; it has {', '.join(row)}.")
            yield from _document(text, self.passages_only)

    @cached_property
    def _commit(self) -> str:
        """The commit of the revision. It is asked for once, so that all passes over the data read the same rows."""
        from huggingface_hub import HfApi

        return str(self._ask(lambda: HfApi().dataset_info(self.repository, revision=self.revision).sha))

    def _rows(self) -> Iterator[dict[str, Any]]:
        import datasets

        commit = self._commit  # outside the next question: if this fails, the reason must be wrapped only once
        data = self._ask(
            lambda: datasets.load_dataset(
                self.repository,
                self.configuration or None,
                split=self.split,
                revision=commit,
                streaming=True,
            )
        )
        rows = iter(data)
        while (row := self._ask(lambda: next(rows, None))) is not None:
            yield row

    def _ask(self, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except Exception as error:  # the hub's clients pass on the errors of their transport, of any kind
            raise DataError(f"{self.name} could not be read: {first_line(error)}") from error


def check_passages(empty: Iterable[Source]) -> None:
    """Raise a `DataError` with advice if sources without text are so because only their passages are read."""
    if names := [source.name for source in empty if source.passages_only]:
        raise DataError(
            f"The corpus is empty: {names[0]} has no passage of text, of {SHORTEST} words and with a full stop at its "
            "end. Give --no-passages-only to read all lines."
        )


def _document(text: str, passages_only: bool) -> Iterator[str]:
    document = BAD.sub(REPLACEMENT, text)
    if passages_only:
        yield from passages_of_document(document)
    else:
        yield from filter(None, map(str.strip, document.split("\n")))
    yield ""
