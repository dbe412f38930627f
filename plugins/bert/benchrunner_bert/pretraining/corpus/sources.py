"""Sources of a corpus: text files, JSON lines, Parquet tables and hub data sets as streams of paragraphs.

A source yields paragraphs without line breaks; an empty paragraph ends a document.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

import pyarrow as pa
import pyarrow.parquet as pq

from benchrunner import DataError, first_line
from benchrunner_bert.pretraining.corpus.manifest import SourceFacts
from benchrunner_bert.pretraining.corpus.text_blocks import (
    BAD,
    REPLACED,
    decoded,
    file_facts,
    hashed,
    lines,
    unreadable,
)

HUB = "hub:"


FIELD = "text"
"""The field of JSON lines and the column of tables that holds a document."""


class Source(ABC):
    """One file or data set."""

    name: str
    """As the manifest has it: without the folders above what the user named."""

    @abstractmethod
    def facts(self) -> SourceFacts:
        """What tells its content from another's, and what was unusual; reads the whole file."""

    @abstractmethod
    def paragraphs(self) -> Iterator[str]:
        """Paragraphs without line breaks; an empty one ends a document."""


@final
@dataclass(frozen=True)
class TextFile(Source):
    """Plain text, one paragraph a line."""

    path: Path
    name: str
    blank_lines: int = 1
    """How many blank lines in a row end a document; 0: only the end of the file does."""

    def facts(self) -> SourceFacts:
        return file_facts(self.path, self.name)

    def paragraphs(self) -> Iterator[str]:
        blank = 0
        for line in lines(self.path):
            paragraph = line.strip()
            blank = 0 if paragraph else blank + 1
            if paragraph or blank == self.blank_lines:
                yield paragraph
        yield ""


@final
@dataclass(frozen=True)
class JsonLines(Source):
    """One JSON object a line, a document each; line breaks inside end paragraphs."""

    path: Path
    name: str

    def facts(self) -> SourceFacts:
        return file_facts(self.path, self.name)

    def paragraphs(self) -> Iterator[str]:
        for number, line in enumerate(lines(self.path, whole=True), start=1):
            if line.strip():
                yield from _document(self._text(line, number))

    def _text(self, line: str, number: int) -> str:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:  # the latter: too many brackets, one inside the other
            raise DataError(f"{self.path}:{number}: not a line of JSON ({error}); mend or remove it.") from None
        text = found.get(FIELD) if isinstance(found, dict) else None
        if not isinstance(text, str):
            raise DataError(
                f'{self.path}:{number}: expected an object with a text, {{"{FIELD}": "..."}}, found {_short(line)}.'
            )
        return text


@final
@dataclass(frozen=True)
class Parquet(Source):
    """A table with a column of documents."""

    path: Path
    name: str

    def facts(self) -> SourceFacts:
        size, sha256 = hashed(self.path)
        bad = sum(decoded(raw)[1] for raw in self._raw())
        return SourceFacts(self.name, size=size, sha256=sha256, bad_bytes=bad)

    def paragraphs(self) -> Iterator[str]:
        for raw in self._raw():
            yield from _document(decoded(raw)[0])

    def _raw(self) -> Iterator[bytes]:
        """As bytes: files are met whose texts are not UTF-8, though the format wants it."""
        try:
            with pq.ParquetFile(self.path) as file:
                if FIELD not in file.schema_arrow.names:
                    has = ", ".join(file.schema_arrow.names)
                    raise DataError(f"{self.path}: expected a column '{FIELD}'; it has {has}.")
                for batch in file.iter_batches(batch_size=1024, columns=[FIELD]):
                    yield from (one for one in batch.column(0).cast(pa.large_binary()).to_pylist() if one is not None)
        except OSError as error:
            raise unreadable(self.path, error) from None
        except pa.ArrowException as error:
            raise DataError(f"{self.path}: not a readable parquet file of texts: {error}.") from None


@final
@dataclass(frozen=True)
class HubSet(Source):
    """A data set on the hub, a document a row, streamed: only what is being read is on this machine."""

    repository: str
    configuration: str = ""
    split: str = "train"
    revision: str | None = None
    """A commit, branch or tag of the repository; None: its newest commit."""

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
            yield from _document(text)

    @cached_property
    def _commit(self) -> str:
        """The state of the repository, so that a corpus that grew is noticed; asked once, so that all passes agree."""
        from huggingface_hub import HfApi

        return str(self._asked(lambda: HfApi().dataset_info(self.repository, revision=self.revision).sha))

    def _rows(self) -> Iterator[dict[str, Any]]:
        import datasets

        commit = self._commit  # not inside the question, which would tell of its failure twice
        found = self._asked(
            lambda: datasets.load_dataset(
                self.repository,
                self.configuration or None,
                split=self.split,
                revision=commit,
                streaming=True,
            )
        )
        rows = iter(found)
        while (row := self._asked(lambda: next(rows, None))) is not None:
            yield row

    def _asked(self, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except Exception as error:  # the hub's clients raise whatever their transport raised
            raise DataError(f"{self.name} could not be read: {first_line(error)}") from error


def _document(text: str) -> Iterator[str]:
    for line in BAD.sub(REPLACED, text).split("\n"):
        if paragraph := line.strip():
            yield paragraph
    yield ""


def _short(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
