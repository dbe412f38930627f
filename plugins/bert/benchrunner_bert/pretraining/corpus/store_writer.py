"""The corpus to token shards, one after another; a writer that was killed goes on behind the last whole shard.

`plan.json` is written first: what the store is to be made from. Then for each shard its tokens, its borders, and a
record last, which says where in the corpus the next one begins. At the end the borders of all shards are joined, and
the manifest closes the store. What is cut where depends on the plan alone, never on when a writer was stopped.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, final

import numpy as np
from filelock import FileLock

from benchrunner import DataError, RequestError, write_atomically, write_json
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.manifest import FileFacts, Manifest, Plan, SourceFacts, agree, read_store_file
from benchrunner_bert.pretraining.corpus.sentences import split
from benchrunner_bert.pretraining.corpus.sources import Source
from benchrunner_bert.pretraining.corpus.token_store import (
    DOCUMENTS,
    MANIFEST,
    SENTENCES,
    VOCABULARY,
    TokenStore,
    file_facts,
    shard_name,
    writing,
)
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_bert.pretraining.corpus.word_cache import WordCache

SHARD_TOKENS = 1 << 25
"""64 MiB as 16-bit numbers. A shard ends with the chunk that fills it, so it may hold a little more."""
_CHUNK = 1 << 20
"""Characters that are cut and encoded at once, paragraphs whole."""


@final
@dataclass(frozen=True)
class Progress:
    """How far a writer is."""

    source: str
    sources: int
    """Done."""
    of: int
    characters: int
    """Read in this call: beside the plan's bytes they give a share of the way."""
    size: int
    """Bytes of all files; 0 where only the hub knows."""
    tokens: int


@final
@dataclass(frozen=True)
class _Place:
    """In the corpus: so many sources are done, and of the next one so many paragraphs and borders."""

    source: int = 0
    item: int = 0


@dataclass
class _Shard:
    """What the next shard holds so far."""

    kind: str
    tokens: list[np.ndarray] = field(default_factory=list)
    lengths: list[np.ndarray] = field(default_factory=list)
    ends: list[np.ndarray] = field(default_factory=list)
    """How many of its sentences stand before the end of each document; 0 where the last shard held them all."""
    count: int = 0
    sentences: int = 0

    def add(self, tokens: np.ndarray, lengths: np.ndarray, ends: np.ndarray) -> None:
        self.tokens.append(tokens.astype(self.kind))
        self.lengths.append(lengths)
        self.ends.append(ends + self.sentences)
        self.count += len(tokens)
        self.sentences += len(lengths)


def write(
    folder: Path,
    corpus: Corpus,
    vocabulary: Vocabulary,
    *,
    facts: tuple[SourceFacts, ...] | None = None,
    shard_tokens: int = SHARD_TOKENS,
    report: Callable[[Progress], None] = lambda progress: None,
) -> TokenStore:
    """The store of a corpus: written, finished where it was begun, or opened where it is there already.

    `facts` are those of the corpus, where they are at hand: to find them everything is read.
    """
    if shard_tokens < 1:
        raise RequestError(f"A shard holds at least one token, not {shard_tokens}.")
    words = WordCache(vocabulary.tokenizer())
    if facts is None:
        facts = tuple(source.facts() for source in corpus.sources)
    plan = Plan(facts, words.fingerprint, vocabulary.size, vocabulary.lowercase, shard_tokens, corpus.blank_lines)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):  # a second process waits, then finds the store finished
            agree(folder, plan)
            if not (folder / MANIFEST).exists():
                _Writer(folder, plan, words, report).write(corpus.sources, vocabulary)
            _sweep(folder)
    return TokenStore.open(folder)


class _Writer:
    def __init__(self, folder: Path, plan: Plan, words: WordCache, report: Callable[[Progress], None]) -> None:
        self._folder, self._plan, self._words, self._report = folder, plan, words, report
        self._characters = 0

    def write(self, sources: Sequence[Source], vocabulary: Vocabulary) -> None:
        records = self._whole_shards()
        begin = place = _Place(**records[-1]["next"]) if records else _Place()
        tokens, shard = sum(one["tokens"] for one in records), _Shard(self._plan.kind)
        for lines, place in self._chunks(sources, begin):
            before = shard.count
            shard.add(*self._encoded(lines))
            tokens += shard.count - before
            self._tell(sources, place, tokens)
            if shard.count >= self._plan.shard_tokens:
                records.append(self._close(len(records), shard, place))
                shard = _Shard(self._plan.kind)
        if shard.count:
            records.append(self._close(len(records), shard, place))
        if not tokens:
            raise DataError(f"The corpus is empty: no word in {', '.join(one.name for one in sources[:3])}.")
        self._finish(records, vocabulary)

    def _chunks(self, sources: Sequence[Source], place: _Place) -> Iterator[tuple[list[str], _Place]]:
        """Paragraphs by the chunk, small files together, and where the next chunk begins."""
        limit = min(_CHUNK, 4 * self._plan.shard_tokens)
        lines, size = list[str](), 0
        for number in range(place.source, len(sources)):
            skipped = place.item if number == place.source else 0
            for item, line in enumerate(islice(sources[number].paragraphs(), skipped, None), start=skipped + 1):
                lines.append(line)
                size += len(line) + 1
                if size >= limit:
                    self._characters += size
                    yield lines, _Place(number, item)
                    lines, size = [], 0
        self._characters += size
        yield lines, _Place(len(sources))

    def _encoded(self, lines: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tokens, the lengths of the sentences that have some, and how many of those each document ends behind."""
        sentences = split("\n".join(lines))
        found = self._words.encode(sentences)
        real = found.lengths > 0
        borders = np.fromiter((not one for one in sentences), np.bool_, len(sentences))
        return found.tokens, found.lengths[real], np.cumsum(real)[borders]

    def _tell(self, sources: Sequence[Source], place: _Place, tokens: int) -> None:
        name = sources[min(place.source, len(sources) - 1)].name
        self._report(Progress(name, place.source, len(sources), self._characters, self._plan.size, tokens))

    def _close(self, number: int, shard: _Shard, following: _Place) -> dict[str, Any]:
        """Put a shard on the disk, its record last."""
        parts = {
            shard_name(number): np.concatenate(shard.tokens),
            _lengths_name(number): np.concatenate(shard.lengths).astype(np.int32),
            _ends_name(number): np.concatenate(shard.ends).astype(np.int64),
        }
        for name, values in parts.items():
            _save(self._folder / name, values)
        record = {
            "tokens": shard.count,
            "sentences": shard.sentences,
            "next": dataclasses.asdict(following),
            "files": [dataclasses.asdict(file_facts(self._folder / name)) for name in parts],
        }
        write_json(self._folder / _record_name(number), record)
        return record

    def _whole_shards(self) -> list[dict[str, Any]]:
        """The records of the shards that an earlier writer left whole, up to the first that is not."""
        found = list[dict[str, Any]]()
        while (record := read_store_file(self._folder / _record_name(len(found)))) is not None:
            files = [FileFacts(**one) for one in record["files"]]
            if not all((self._folder / one.name).is_file() for one in files):
                break
            if any(file_facts(self._folder / one.name) != one for one in files):
                break
            found.append(record)
        return found

    def _finish(self, records: list[dict[str, Any]], vocabulary: Vocabulary) -> None:
        """Join the borders of all shards, then close the store."""
        sentences = sum(one["sentences"] for one in records)
        write_atomically(self._folder / SENTENCES, lambda part: self._join_sentences(part, records, sentences))
        write_atomically(self._folder / DOCUMENTS, lambda part: self._join_documents(part, records))
        write_atomically(self._folder / VOCABULARY, lambda part: part.write_bytes(vocabulary.path.read_bytes()))
        documents = len(np.load(self._folder / DOCUMENTS, mmap_mode="r")) - 1
        joined = (file_facts(self._folder / name) for name in (SENTENCES, DOCUMENTS, VOCABULARY))
        tokens = (FileFacts(**record["files"][0]) for record in records)
        manifest = Manifest(
            self._plan,
            documents,
            sentences,
            sum(one["tokens"] for one in records),
            tuple(one["tokens"] for one in records),
            (*tokens, *joined),
        )
        write_json(self._folder / MANIFEST, manifest.as_json())

    def _join_sentences(self, part: Path, records: list[dict[str, Any]], count: int) -> None:
        starts = np.lib.format.open_memmap(part, mode="w+", dtype=np.int64, shape=(count + 1,))
        at, token = 1, 0
        starts[0] = 0
        for number, record in enumerate(records):
            lengths = np.load(self._folder / _lengths_name(number))
            starts[at : at + len(lengths)] = np.cumsum(lengths, dtype=np.int64) + token
            at, token = at + len(lengths), token + record["tokens"]
        starts.flush()

    def _join_documents(self, part: Path, records: list[dict[str, Any]]) -> None:
        """Where documents end is where the next one starts; a document without sentences is none."""
        found, before = [np.zeros(1, dtype=np.int64)], 0
        for number, record in enumerate(records):
            found.append(np.load(self._folder / _ends_name(number)) + before)
            before += record["sentences"]
        found.append(np.array([before]))
        with part.open("wb") as file:
            np.save(file, np.unique(np.concatenate(found)))


def _save(path: Path, values: np.ndarray) -> None:
    def fill(part: Path) -> None:
        with part.open("wb") as file:
            np.save(file, values)

    write_atomically(path, fill)


def _sweep(folder: Path) -> None:
    """Remove what only the writing needed, and what a killed writer left half done."""
    for pattern in ("*.lengths.npy", "*.ends.npy", "[0-9]*.json", ".*.part"):
        for path in folder.glob(pattern):
            path.unlink()


def _lengths_name(number: int) -> str:
    return f"{number:05}.lengths.npy"


def _ends_name(number: int) -> str:
    return f"{number:05}.ends.npy"


def _record_name(number: int) -> str:
    return f"{number:05}.json"
