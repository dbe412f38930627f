"""Write the corpus as a token store, shard after shard; a writer that was killed continues after its last whole shard.

`plan.json` is written first: it says what the store is made from. Each shard has a file of tokens, files of its
borders, and a record, written last, that says where in the corpus the next shard begins. At the end the borders of all
shards are joined, and the manifest completes the store. Where text is cut depends on the plan alone, not on when a
writer was stopped.
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
from benchrunner_bert.pretraining.corpus.manifest import FileFacts, Manifest, Plan, claim_folder, read_store_file
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
"""Tokens of a shard: 64 MiB as 16-bit numbers. A shard ends with the chunk that fills it, so it may hold a few more."""
_CHUNK = 1 << 20
"""Characters that are split and encoded at once; paragraphs stay whole."""


@final
@dataclass(frozen=True)
class Progress:
    """How much of the corpus a writer has read."""

    source: str
    """Name of the current source."""
    sources_done: int
    sources: int
    """Number of all sources."""
    characters: int
    """Characters read in this call. Their ratio to `size` is the part that is done."""
    size: int
    """Size of all files in bytes; 0 where only the hub knows it."""
    tokens: int


@final
@dataclass(frozen=True)
class _Place:
    """A place in the corpus: the number of finished sources, and of finished paragraphs of the next source."""

    source: int = 0
    item: int = 0


@dataclass
class _Shard:
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
    shard_tokens: int = SHARD_TOKENS,
    report: Callable[[Progress], None] = lambda progress: None,
) -> TokenStore:
    """Write the token store of a corpus, or finish an unfinished store, or open and verify a finished store."""
    if shard_tokens < 1:
        raise RequestError(f"A shard holds at least one token, not {shard_tokens}.")
    words = WordCache(vocabulary.tokenizer())
    plan = Plan(
        corpus.facts, words.fingerprint, vocabulary.size, vocabulary.lowercase, shard_tokens, corpus.blank_lines
    )
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):  # a second process waits, and then opens the finished store
            claim_folder(folder, plan)
            was_finished = (folder / MANIFEST).exists()
            if not was_finished:
                _Writer(folder, plan, words, report).write(corpus.sources, vocabulary)
            _sweep(folder)
    store = TokenStore.open(folder)
    if was_finished:  # the files of a new store have just been read for their checksums
        store.verify()
    return store


class _Writer:
    """Writes one store."""

    def __init__(self, folder: Path, plan: Plan, words: WordCache, report: Callable[[Progress], None]) -> None:
        self._folder, self._plan, self._words, self._report = folder, plan, words, report
        self._characters = 0

    def write(self, sources: Sequence[Source], vocabulary: Vocabulary) -> None:
        """Write all shards that are missing, then complete the store."""
        records = self._whole_shards()
        begin = place = _Place(**records[-1]["next"]) if records else _Place()
        tokens, shard = sum(record["tokens"] for record in records), _Shard(self._plan.kind)
        for lines, place in self._chunks(sources, begin):
            before = shard.count
            shard.add(*self._encoded(lines))
            tokens += shard.count - before
            self._report_progress(sources, place, tokens)
            if shard.count >= self._plan.shard_tokens:
                records.append(self._close(len(records), shard, place))
                shard = _Shard(self._plan.kind)
        if shard.count:
            records.append(self._close(len(records), shard, place))
        if not tokens:
            names = ", ".join(source.name for source in sources[:3])
            raise DataError(f"The corpus is empty: no word in {names}.")
        self._finish(records, vocabulary)

    def _chunks(self, sources: Sequence[Source], place: _Place) -> Iterator[tuple[list[str], _Place]]:
        """Give chunks of paragraphs, each with the place where the next chunk begins; small files share a chunk."""
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
        """Split and encode paragraphs.

        Give all tokens, the lengths of the sentences that have tokens, and the number of such sentences before each
        end of a document.
        """
        sentences = split("\n".join(lines))
        encoded = self._words.encode(sentences)
        has_tokens = encoded.lengths > 0
        is_border = np.fromiter((not sentence for sentence in sentences), np.bool_, len(sentences))
        return encoded.tokens, encoded.lengths[has_tokens], np.cumsum(has_tokens)[is_border]

    def _report_progress(self, sources: Sequence[Source], place: _Place, tokens: int) -> None:
        name = sources[min(place.source, len(sources) - 1)].name
        self._report(Progress(name, place.source, len(sources), self._characters, self._plan.size, tokens))

    def _close(self, number: int, shard: _Shard, following: _Place) -> dict[str, Any]:
        """Write the files of a shard, its record last."""
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
        """Read the records of an earlier writer, up to the first shard with a missing or damaged file."""
        records = list[dict[str, Any]]()
        while (record := read_store_file(self._folder / _record_name(len(records)))) is not None:
            files = [FileFacts(**facts) for facts in record["files"]]
            if not all((self._folder / file.name).is_file() for file in files):
                break
            if any(file_facts(self._folder / file.name) != file for file in files):
                break
            records.append(record)
        return records

    def _finish(self, records: list[dict[str, Any]], vocabulary: Vocabulary) -> None:
        """Join the borders of all shards, then write the manifest."""
        sentences = sum(record["sentences"] for record in records)
        write_atomically(self._folder / SENTENCES, lambda part: self._join_sentences(part, records, sentences))
        write_atomically(self._folder / DOCUMENTS, lambda part: self._join_documents(part, records))
        write_atomically(self._folder / VOCABULARY, lambda part: part.write_bytes(vocabulary.path.read_bytes()))
        documents = len(np.load(self._folder / DOCUMENTS, mmap_mode="r")) - 1
        joined = (file_facts(self._folder / name) for name in (SENTENCES, DOCUMENTS, VOCABULARY))
        shards = (FileFacts(**record["files"][0]) for record in records)
        counts = tuple(record["tokens"] for record in records)
        manifest = Manifest(self._plan, documents, sentences, sum(counts), counts, (*shards, *joined))
        write_json(self._folder / MANIFEST, manifest.as_json())

    def _join_sentences(self, part: Path, records: list[dict[str, Any]], count: int) -> None:
        starts = np.lib.format.open_memmap(part, mode="w+", dtype=np.int64, shape=(count + 1,))
        position, token = 1, 0
        starts[0] = 0
        for number, record in enumerate(records):
            lengths = np.load(self._folder / _lengths_name(number))
            starts[position : position + len(lengths)] = np.cumsum(lengths, dtype=np.int64) + token
            position, token = position + len(lengths), token + record["tokens"]
        starts.flush()

    def _join_documents(self, part: Path, records: list[dict[str, Any]]) -> None:
        """Join the ends of documents, where the next documents start. Documents without sentences are left out."""
        starts, before = [np.zeros(1, dtype=np.int64)], 0
        for number, record in enumerate(records):
            starts.append(np.load(self._folder / _ends_name(number)) + before)
            before += record["sentences"]
        starts.append(np.array([before]))
        with part.open("wb") as file:
            np.save(file, np.unique(np.concatenate(starts)))


def _save(path: Path, values: np.ndarray) -> None:
    def fill(part: Path) -> None:
        with part.open("wb") as file:
            np.save(file, values)

    write_atomically(path, fill)


def _sweep(folder: Path) -> None:
    """Remove files that only the writing needed, and unfinished files of a killed writer."""
    for pattern in ("*.lengths.npy", "*.ends.npy", "[0-9]*.json", ".*.part"):
        for path in folder.glob(pattern):
            path.unlink()


def _lengths_name(number: int) -> str:
    return f"{number:05}.lengths.npy"


def _ends_name(number: int) -> str:
    return f"{number:05}.ends.npy"


def _record_name(number: int) -> str:
    return f"{number:05}.json"
