"""Files of shards while a token store is written: save them, read what an earlier writer saved, join their borders."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import final

import numpy as np

from benchrunner import DamagedFile
from benchrunner.engine import seals, write_atomically
from benchrunner_bert.pretraining.corpus.manifest import FileFacts, Manifest, Plan, read_store_file
from benchrunner_bert.pretraining.corpus.token_store import (
    DOCUMENTS,
    MANIFEST,
    SENTENCES,
    VOCABULARY,
    file_facts,
    shard_name,
)
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary


@final
@dataclass(frozen=True)
class Place:
    """A place in the corpus: the number of finished sources, and of finished paragraphs of the next source."""

    source: int = 0
    item: int = 0


@final
@dataclass(frozen=True)
class Record:
    """What is known of a finished shard."""

    tokens: int
    sentences: int
    next: Place
    """Where the next shard begins."""
    files: tuple[FileFacts, ...]
    """The file of the tokens, then those of the borders."""


@dataclass
class Shard:
    """The content of the next shard so far."""

    kind: str
    """Type of the integers that hold tokens."""
    tokens: list[np.ndarray] = field(default_factory=list)
    lengths: list[np.ndarray] = field(default_factory=list)
    """Number of tokens of each sentence."""
    ends: list[np.ndarray] = field(default_factory=list)
    """Number of the shard's sentences before the end of each document; 0 where the document is in earlier shards."""
    count: int = 0
    """Number of tokens."""
    sentences: int = 0

    def add(self, tokens: np.ndarray, lengths: np.ndarray, ends: np.ndarray) -> None:
        """Add the tokens of some sentences."""
        self.tokens.append(tokens.astype(self.kind))
        self.lengths.append(lengths)
        self.ends.append(ends + self.sentences)
        self.count += len(tokens)
        self.sentences += len(lengths)


@final
@dataclass(frozen=True)
class ShardFiles:
    """The files in the folder of an unfinished store."""

    folder: Path

    def save(self, number: int, shard: Shard, following: Place) -> Record:
        """Write the files of a shard, its record last; `following` is the place where the next shard begins."""
        parts = {
            shard_name(number): np.concatenate(shard.tokens),
            _lengths_name(number): np.concatenate(shard.lengths).astype(np.int32),
            _ends_name(number): np.concatenate(shard.ends).astype(np.int64),
        }
        for name, values in parts.items():
            _save(self.folder / name, values)
        files = tuple(file_facts(self.folder / name) for name in parts)
        record = Record(shard.count, shard.sentences, following, files)
        seals.write_sealed(self.folder / _record_name(number), record)
        return record

    def whole_shards(self) -> list[Record]:
        """Read the records of an earlier writer, up to the first shard with a missing or damaged file."""
        records = list[Record]()
        while (record := self._record(len(records))) is not None:
            if not all((self.folder / file.name).is_file() for file in record.files):
                break
            if any(file_facts(self.folder / file.name) != file for file in record.files):
                break
            records.append(record)
        return records

    def _record(self, number: int) -> Record | None:
        """Read the record of a shard; None where there is none, or where it is damaged: the shard is written again."""
        try:
            return read_store_file(Record, self.folder / _record_name(number))
        except DamagedFile:
            return None

    def complete(self, plan: Plan, records: list[Record], vocabulary: Vocabulary) -> None:
        """Join the borders of all shards, then write the manifest."""
        write_atomically(self.folder / SENTENCES, lambda part: self._join_sentences(part, records))
        write_atomically(self.folder / DOCUMENTS, lambda part: self._join_documents(part, records))
        write_atomically(self.folder / VOCABULARY, lambda part: part.write_bytes(vocabulary.path.read_bytes()))
        joined = (file_facts(self.folder / name) for name in (SENTENCES, DOCUMENTS, VOCABULARY))
        shards = (record.files[0] for record in records)
        counts = tuple(record.tokens for record in records)
        manifest = Manifest(
            plan,
            documents=len(np.load(self.folder / DOCUMENTS, mmap_mode="r")) - 1,
            sentences=sum(record.sentences for record in records),
            tokens=sum(counts),
            shards=counts,
            files=(*shards, *joined),
        )
        seals.write_sealed(self.folder / MANIFEST, manifest)

    def _join_sentences(self, part: Path, records: list[Record]) -> None:
        """Write the index of the first token of each sentence, and the end."""
        count = sum(record.sentences for record in records)
        starts = np.lib.format.open_memmap(part, mode="w+", dtype=np.int64, shape=(count + 1,))
        position = 1
        token = 0
        starts[0] = 0
        for number, record in enumerate(records):
            lengths = np.load(self.folder / _lengths_name(number))
            starts[position : position + len(lengths)] = np.cumsum(lengths, dtype=np.int64) + token
            position += len(lengths)
            token += record.tokens
        starts.flush()

    def _join_documents(self, part: Path, records: list[Record]) -> None:
        """Write the index of the first sentence of each document, and the end. Empty documents are left out."""
        starts = [np.zeros(1, dtype=np.int64)]
        before = 0
        for number, record in enumerate(records):
            starts.append(np.load(self.folder / _ends_name(number)) + before)
            before += record.sentences
        starts.append(np.array([before]))
        with part.open("wb") as file:
            np.save(file, np.unique(np.concatenate(starts)))

    def sweep(self) -> None:
        """Remove files that only the writing needed, and unfinished files of a killed writer."""
        for pattern in ("*.lengths.npy", "*.ends.npy", "[0-9]*.json", ".*.part"):
            for path in self.folder.glob(pattern):
                path.unlink()


def _save(path: Path, values: np.ndarray) -> None:
    def fill(part: Path) -> None:
        with part.open("wb") as file:
            np.save(file, values)

    write_atomically(path, fill)


def _lengths_name(number: int) -> str:
    return f"{number:05}.lengths.npy"


def _ends_name(number: int) -> str:
    return f"{number:05}.ends.npy"


def _record_name(number: int) -> str:
    return f"{number:05}.json"
