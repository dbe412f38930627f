"""What a token store says of itself: what it was made from, with which settings, and what is in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, final

from benchrunner import DataError, RequestError, read_json_object, write_json

PLAN = "plan.json"
"""Written first of all."""
FORMAT = 1
"""Of the files; a store of another format is not read."""


@final
@dataclass(frozen=True)
class SourceFacts:
    """One file or data set of the corpus."""

    name: str
    size: int = 0
    """In bytes; 0 for a data set on the hub."""
    sha256: str = ""
    """Of a file."""
    revision: str = ""
    """The commit of a data set on the hub."""
    bom: bool = False
    """Whether it begins with a byte order mark, which is left out."""
    crlf: int = 0
    """Lines that end with a carriage return, which is left out."""
    bad_bytes: int = 0
    """Bytes that are not UTF-8, each replaced."""


@final
@dataclass(frozen=True)
class Plan:
    """What a store is to be made from: the same plan gives the same bytes."""

    sources: tuple[SourceFacts, ...]
    tokenizer: str
    """Its fingerprint."""
    vocabulary: int
    """Pieces."""
    lowercase: bool
    shard_tokens: int
    blank_lines: int
    """In a row, that end a document of a text file."""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(one.size for one in self.sources)

    @property
    def kind(self) -> str:
        """The integers that hold its tokens."""
        return "uint16" if self.vocabulary <= 1 << 16 else "int32"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{**data, "sources": tuple(SourceFacts(**one) for one in data["sources"])})


@final
@dataclass(frozen=True)
class FileFacts:
    """One file of the store."""

    name: str
    size: int
    sha256: str


@final
@dataclass(frozen=True)
class Manifest:
    """A finished store. Its file is written last: its presence means that the rest is whole."""

    plan: Plan
    documents: int
    sentences: int
    tokens: int
    shards: tuple[int, ...]
    """The tokens of each."""
    files: tuple[FileFacts, ...]

    @property
    def sources(self) -> tuple[SourceFacts, ...]:
        return self.plan.sources

    def as_json(self) -> dict[str, Any]:
        return {"format": FORMAT, **dataclasses.asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']}, expected {FORMAT}")
        plan, files = Plan.from_json(data["plan"]), tuple(FileFacts(**one) for one in data["files"])
        counts = {name: int(data[name]) for name in ("documents", "sentences", "tokens")}
        return cls(plan, shards=tuple(data["shards"]), files=files, **counts)


def agree(folder: Path, plan: Plan) -> None:
    """A folder is for one plan: the same corpus, tokenizer and settings."""
    path = folder / PLAN
    found = read_store_file(path)
    if found is None:
        write_json(path, dataclasses.asdict(plan))
        return
    try:
        begun = Plan.from_json(found)
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}: nothing that this version can read ({error}).") from None
    _same_sources(folder, begun.sources, plan.sources)
    for name in ("tokenizer", "lowercase", "shard_tokens", "blank_lines"):
        old, new = getattr(begun, name), getattr(plan, name)
        if old != new:
            raise RequestError(
                f"{folder} was begun with {name.replace('_', ' ')} {old}, now it is {new}: "
                "ask for the same, or choose another folder."
            )


def _same_sources(folder: Path, begun: Sequence[SourceFacts], now: Sequence[SourceFacts]) -> None:
    advice = f"The tokens in {folder} are of the old corpus: bring it back, or choose another folder."
    for old, new in zip(begun, now, strict=False):
        if old.name != new.name:
            raise DataError(f"The corpus has changed: {old.name} was expected next, found {new.name}. {advice}")
        if old != new:
            if old.revision:
                advice = f"{advice} Named {old.name}@{old.revision} it is what it was."
            raise DataError(
                f"The corpus has changed: {new.name} is not what it was ({_difference(old, new)}). {advice}"
            )
    if len(begun) != len(now):
        gone = begun[len(now) :]
        first = f"{gone[0].name} is gone" if gone else f"{now[len(begun)].name} is new"
        raise DataError(f"The corpus has changed: {first}. {advice}")


def _difference(old: SourceFacts, new: SourceFacts) -> str:
    if old.size != new.size:
        return f"{old.size:,} bytes then, {new.size:,} now"
    return f"{(old.sha256 or old.revision)[:12]} then, {(new.sha256 or new.revision)[:12]} now"


def read_store_file(path: Path) -> dict[str, Any] | None:
    """Read a JSON file of the store; None where there is none."""
    return read_json_object(path, advice="Remove its folder: it is made again.") if path.exists() else None
