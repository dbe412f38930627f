"""The manifest of a token store: the plan it is made from, what its files hold, and where its writer goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

from benchrunner import DamagedFile, DataError, RequestError
from benchrunner.engine import decoding, seals

MANIFEST = "manifest.json"


@final
@dataclass(frozen=True)
class SourceFacts:
    """What identifies the content of a file or data set, and what was unusual in it."""

    name: str
    size: int = 0
    """Size in bytes; 0 for a data set on the hub."""
    sha256: str = ""
    """Hash of a file."""
    revision: str = ""
    """Commit of a data set on the hub."""
    bom: bool = False
    """Whether the file begins with a byte order mark, which is left out."""
    crlf: int = 0
    """Number of lines that end with a carriage return, which is left out."""
    bad_bytes: int = 0
    """Number of bytes that are not UTF-8; each is replaced."""
    passages_only: bool = False
    """Whether headings and list lines of extracted Wikipedia were left out."""


@final
@dataclass(frozen=True)
class Plan:
    """What a token store is made from. The same plan gives the same bytes."""

    sources: tuple[SourceFacts, ...]
    tokenizer: str
    """Fingerprint of the tokenizer."""
    vocabulary: int
    """Number of pieces."""
    lowercase: bool
    blank_lines: int
    """Number of blank lines in a row that end a document of a text file."""

    @property
    def size(self) -> int:
        """Size of all files in bytes."""
        return sum(source.size for source in self.sources)

    @property
    def kind(self) -> str:
        """Type of the integers that hold tokens."""
        return "uint16" if self.vocabulary <= 1 << 16 else "int32"


@final
@dataclass(frozen=True)
class FileFacts:
    """A file of the store."""

    name: str
    size: int = 0
    checksum: str = ""


@final
@dataclass(frozen=True)
class Place:
    """A place in the corpus: the number of finished sources, and of finished paragraphs of the next source."""

    source: int = 0
    item: int = 0


@final
@dataclass(frozen=True)
class Manifest:
    """What a store holds. What its files hold beyond is cut off by the next writer, who goes on from `next`."""

    plan: Plan
    files: tuple[FileFacts, ...] = ()
    documents: int = 0
    sentences: int = 0
    tokens: int = 0
    ended: int = 0
    """Number of sentences before the end of the last whole document."""
    next: Place = Place()
    """Where the writer goes on."""
    complete: bool = False
    format: Literal[3] = 3
    """Version of the store's files; a store of another version is refused."""


def begun_manifest(folder: Path, plan: Plan) -> Manifest:
    """Read the manifest of a folder, or make that of a new store.

    Raises an error if the folder belongs to another corpus, tokenizer or setting.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        return Manifest(plan)
    earlier = manifest.plan
    _check_sources(folder, earlier.sources, plan.sources)
    for name in ("tokenizer", "lowercase", "blank_lines"):
        old = getattr(earlier, name)
        new = getattr(plan, name)
        if old != new:
            raise RequestError(
                f"{folder} was begun with {name.replace('_', ' ')} {old}, now it is {new}: "
                "ask for the same, or choose another folder."
            )
    return manifest


def _check_sources(folder: Path, earlier: Sequence[SourceFacts], now: Sequence[SourceFacts]) -> None:
    advice = f"The tokens in {folder} are of the old corpus: restore the old corpus, or choose another folder."
    for old, new in zip(earlier, now, strict=False):
        if old.name != new.name:
            raise DataError(f"The corpus has changed: {old.name} was expected next, found {new.name}. {advice}")
        if old != new:
            if old.revision:
                advice = f"{advice} The old data set is {old.name}@{old.revision}."
            raise DataError(f"The corpus has changed: {new.name} is not what it was, or is read otherwise. {advice}")
    if len(earlier) != len(now):
        gone = earlier[len(now) :]
        first = f"{gone[0].name} is gone" if gone else f"{now[len(earlier)].name} is new"
        raise DataError(f"The corpus has changed: {first}. {advice}")


def read_manifest(folder: Path) -> Manifest | None:
    """Read the manifest of a folder; None where no store was begun. A damaged file is a `DamagedFile`."""
    path = folder / MANIFEST
    remedy = seals.made_again(folder)
    content = seals.find_sealed(path, remedy)
    return None if content is None else decoding.from_json(Manifest, content, path, DamagedFile, remedy)
