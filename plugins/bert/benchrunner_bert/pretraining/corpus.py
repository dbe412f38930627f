"""Where the text comes from: files and hub data sets as one stream of paragraphs, with the quirks of real files.

A source yields paragraphs without line breaks; an empty one ends a document. In memory are about two blocks of a text
file, whose longer lines are cut; of JSON lines, tables and data sets it is a whole document, however long it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Self, final

import pyarrow as pa
import pyarrow.parquet as pq

from benchrunner import DataError, RequestError
from benchrunner_bert.pretraining.manifest import SourceFacts

HUB = "hub:"
FIELD = "text"
"""The field of JSON lines and the column of tables that holds a document."""
_BLOCK = 1 << 20
"""Bytes read at once."""
_NEARBY = 1 << 12
"""Bytes in which a blank is looked for where a line is cut."""
_BOM = b"\xef\xbb\xbf"
_BAD = re.compile("[\ud800-\udfff]")
"""What stands for a byte that is not UTF-8, and what no UTF-8 can hold."""
_REPLACED = "\ufffd"
_WIDE = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_PACKED = re.compile(
    rb"(?P<gzip>\x1f\x8b)|(?P<zstd>\x28\xb5\x2f\xfd)|(?P<zip>PK\x03\x04)|(?P<xz>\xfd7zXZ\x00)|(?P<bzip2>BZh[1-9]1AY&SY)"
)
"""How compressed files begin."""
_HEAD = 1 << 16
"""Bytes that show whether a file is text."""
_FEW = 512
"""Of fewer bytes a share tells nothing."""


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
        return _file_facts(self.path, self.name)

    def paragraphs(self) -> Iterator[str]:
        blank = 0
        for line in _lines(self.path):
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
        return _file_facts(self.path, self.name)

    def paragraphs(self) -> Iterator[str]:
        for number, line in enumerate(_lines(self.path, whole=True), start=1):
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
        size, sha256 = _hashed(self.path)
        bad = sum(_decoded(raw)[1] for raw in self._raw())
        return SourceFacts(self.name, size=size, sha256=sha256, bad_bytes=bad)

    def paragraphs(self) -> Iterator[str]:
        for raw in self._raw():
            yield from _document(_decoded(raw)[0])

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
            raise _unreadable(self.path, error) from None
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
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise DataError(f"{self.name} could not be read: {reason}") from error


@final
@dataclass(frozen=True)
class Corpus:
    """All sources, in their order."""

    sources: tuple[Source, ...]
    blank_lines: int = 1
    """How many blank lines in a row end a document of a text file; 0: only the end of the file does."""

    def paragraphs(self) -> Iterator[str]:
        """Of all of them."""
        for source in self.sources:
            yield from source.paragraphs()

    @classmethod
    def named(cls, references: Sequence[str], *, blank_lines: int = 1) -> Self:
        """What the user named: files, folders with all files in them, hub:NAME[,CONFIG[,SPLIT]][@REVISION]."""
        if blank_lines < 0:
            raise RequestError(f"blank_lines counts lines: 0 or more, not {blank_lines}.")
        found = tuple(one for reference in references for one in _sources(reference, blank_lines))
        if not found:
            raise RequestError("A corpus is needed: text files, .jsonl, .parquet, folders of them, or hub:NAME.")
        return cls(found, blank_lines)


def _sources(reference: str, blank_lines: int) -> Iterator[Source]:
    if reference.startswith(HUB):
        yield _hub_set(reference)
        return
    path = Path(reference)
    if path.is_dir():
        yield from (_file(one, one.relative_to(path).as_posix(), blank_lines) for one in _files(path))
    elif path.is_file():
        yield _file(path, path.name, blank_lines)
    else:
        raise DataError(f"{path}: there is no such file or folder. A data set on the hub is written hub:NAME.")


def _files(folder: Path) -> list[Path]:
    """All files below a folder but the hidden ones, in an order that is the same everywhere; links are followed."""
    try:
        found = list(_walked(folder, (folder.resolve(),)))
    except OSError as error:
        raise _unreadable(Path(error.filename or folder), error) from None
    if not found:
        raise DataError(f"{folder}: there are no files in this folder.")
    return found


def _walked(folder: Path, above: tuple[Path, ...]) -> Iterator[Path]:
    for one in sorted(folder.iterdir(), key=lambda path: path.name):
        if one.name.startswith("."):
            continue
        if one.is_dir():
            home = one.resolve()
            if home not in above:  # else a link back to what is being walked already
                yield from _walked(one, (*above, home))
        elif one.is_file():
            yield one
        elif one.is_symlink():
            raise DataError(f"{one}: a link to what is not there ({one.readlink()}); mend or remove it.")


def _file(path: Path, name: str, blank_lines: int) -> Source:
    match path.suffix.lower():
        case ".jsonl":
            return JsonLines(path, name)
        case ".parquet":
            return Parquet(path, name)
        case _:
            return TextFile(path, name, blank_lines)


def _hub_set(reference: str) -> HubSet:
    named, pinned, revision = reference.removeprefix(HUB).partition("@")
    parts = named.split(",")
    if not parts[0] or len(parts) > 3 or bool(pinned) != bool(revision) or "," in revision:
        raise RequestError(
            f"'{reference}': expected hub:NAME, hub:NAME,CONFIG or hub:NAME,CONFIG,SPLIT, and @REVISION behind it "
            "where a certain commit, branch or tag is meant."
        )
    configuration, split = [*parts[1:], "", ""][:2]
    return HubSet(parts[0], configuration, split or "train", revision or None)


def _document(text: str) -> Iterator[str]:
    for line in _BAD.sub(_REPLACED, text).split("\n"):
        if paragraph := line.strip():
            yield paragraph
    yield ""


def _lines(path: Path, *, whole: bool = False) -> Iterator[str]:
    """Lines without their ends; a byte that is not UTF-8 becomes a replacement character."""
    first = True
    for block in _blocks(path, whole=whole):
        text, _ = _decoded(block.removeprefix(_BOM) if first else block)
        first = False
        yield from text.removesuffix("\n").split("\n")


def _blocks(path: Path, *, whole: bool = False) -> Iterator[bytes]:
    """A file in blocks of whole lines; lines longer than a block are cut, unless they are to stay whole."""
    try:
        with path.open("rb") as file:
            _check_text(path, file)
            while block := file.read(_BLOCK):
                yield block + (file.readline() if whole else _rest(file))
    except OSError as error:
        raise _unreadable(path, error) from None


def _rest(file: IO[bytes]) -> bytes:
    """Up to the end of the line, or, where that is further than a block, up to a place where it may be cut."""
    rest = file.readline(_BLOCK)
    if len(rest) < _BLOCK or rest.endswith(b"\n"):
        return rest
    end = _last_word(rest) or len(rest)
    file.seek(end - len(rest), os.SEEK_CUR)
    return rest[:end]


def _last_word(text: bytes) -> int:
    """Where it begins, so that what follows a cut is no blank line; its last character where no blank is near."""
    end = len(text.rstrip())
    if blank := text.rfind(b" ", max(0, end - _NEARBY), end) + 1:
        return blank
    start = max(0, end - 1)
    while start and text[start] & 0xC0 == 0x80:  # a byte inside a UTF-8 character
        start -= 1
    return start


def _check_text(path: Path, file: IO[bytes]) -> None:
    start = file.read(_HEAD)
    file.seek(0)
    if packed := _PACKED.match(start):
        raise DataError(f"{path}: not a file of UTF-8 text: it is compressed ({packed.lastgroup}). Unpack it first.")
    if what := _not_text(start):
        raise DataError(f"{path}: not a file of UTF-8 text: {what}. Convert it, or name the files that are text.")


def _not_text(start: bytes) -> str | None:
    if wide := _WIDE.get(start[:2]):
        return f"it looks like {wide}"
    if start.count(0) > len(start) // 100:
        return "it holds zero bytes"
    bad = _decoded(start)[1]
    return f"{bad:,} of its first {len(start):,} bytes are none" if bad > max(len(start), _FEW) // 20 else None


def _decoded(raw: bytes) -> tuple[str, int]:
    """The text, and how many of its bytes are not UTF-8."""
    try:
        return raw.decode("utf-8"), 0
    except UnicodeDecodeError:
        return _BAD.subn(_REPLACED, raw.decode("utf-8", "surrogateescape"))


def _file_facts(path: Path, name: str) -> SourceFacts:
    digest = hashlib.sha256()
    size = crlf = bad = 0
    bom: bool | None = None
    for block in _blocks(path):
        bom = block.startswith(_BOM) if bom is None else bom
        digest.update(block)
        size += len(block)
        crlf += block.count(b"\r\n")
        bad += _decoded(block)[1]
    return SourceFacts(name, size=size, sha256=digest.hexdigest(), bom=bool(bom), crlf=crlf, bad_bytes=bad)


def _hashed(path: Path) -> tuple[int, str]:
    try:
        with path.open("rb") as file:
            return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(f"{path}: cannot be read: {error.strerror or error}.")


def _short(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
