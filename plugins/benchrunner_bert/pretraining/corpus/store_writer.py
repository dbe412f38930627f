"""Write the corpus as a token store, shard after shard; a writer that was killed continues after its last whole shard.

`plan.json` is written first: it says what the store is made from. Each shard has a file of tokens, files of its
borders, and a record, written last, that says where in the corpus the next shard begins. At the end the borders of all
shards are joined, and the manifest completes the store. Where text is cut depends on the plan alone, not on when a
writer was stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import final

import numpy as np
from filelock import FileLock

from benchrunner import DataError, RequestError
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.manifest import Plan, claim_folder
from benchrunner_bert.pretraining.corpus.sentences import split
from benchrunner_bert.pretraining.corpus.shard_files import Place, Shard, ShardFiles
from benchrunner_bert.pretraining.corpus.sources import Source, check_passages
from benchrunner_bert.pretraining.corpus.token_store import MANIFEST, TokenStore, writing
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_bert.tokenizer import BertTokenizer

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
    characters: int
    """Characters read in this call. Their ratio to `size` is the part that is done."""
    size: int
    """Size of all files in bytes; 0 where only the hub knows it."""
    tokens: int


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
    tokenizer = vocabulary.tokenizer()
    plan = Plan(
        corpus.facts, tokenizer.fingerprint, vocabulary.size, vocabulary.lowercase, shard_tokens, corpus.blank_lines
    )
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):  # a second process waits, and then opens the finished store
            claim_folder(folder, plan)
            was_finished = (folder / MANIFEST).exists()
            files = ShardFiles(folder)
            if not was_finished:
                _Writer(files, plan, tokenizer, report).write(corpus.sources, vocabulary)
            files.sweep()
    store = TokenStore.open(folder)
    if was_finished:  # the files of a new store have just been read for their checksums
        store.verify()
    return store


class _Writer:
    """Reads the sources, and fills and saves shards."""

    def __init__(
        self, files: ShardFiles, plan: Plan, tokenizer: BertTokenizer, report: Callable[[Progress], None]
    ) -> None:
        self._files = files
        self._plan = plan
        self._report = report
        self._words = tokenizer.words
        self._characters = 0

    def write(self, sources: Sequence[Source], vocabulary: Vocabulary) -> None:
        """Write all shards that are missing, then complete the store."""
        records = self._files.whole_shards()
        begin = place = records[-1].next if records else Place()
        tokens = sum(record.tokens for record in records)
        shard = Shard(self._plan.kind)
        for lines, place in self._chunks(sources, begin):
            before = shard.count
            shard.add(*self._encoded(lines))
            tokens += shard.count - before
            name = sources[min(place.source, len(sources) - 1)].name
            self._report(Progress(name, self._characters, self._plan.size, tokens))
            if shard.count >= self._plan.shard_tokens:
                records.append(self._files.save(len(records), shard, place))
                shard = Shard(self._plan.kind)
        if shard.count:
            records.append(self._files.save(len(records), shard, place))
        if not tokens:
            check_passages(sources)
            names = ", ".join(source.name for source in sources[:3])
            raise DataError(f"The corpus is empty: no word in {names}.")
        self._files.complete(self._plan, records, vocabulary)

    def _chunks(self, sources: Sequence[Source], place: Place) -> Iterator[tuple[list[str], Place]]:
        """Give chunks of paragraphs, each with the place where the next chunk begins; small files share a chunk."""
        limit = min(_CHUNK, 4 * self._plan.shard_tokens)
        lines = list[str]()
        size = 0
        for number in range(place.source, len(sources)):
            skipped = place.item if number == place.source else 0
            for item, line in enumerate(islice(sources[number].paragraphs(), skipped, None), start=skipped + 1):
                lines.append(line)
                size += len(line) + 1
                if size >= limit:
                    self._characters += size
                    yield lines, Place(number, item)
                    lines = []
                    size = 0
        self._characters += size
        yield lines, Place(len(sources))

    def _encoded(self, lines: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Split and encode paragraphs.

        Give all tokens, the lengths of the sentences that have tokens, and the number of such sentences before each
        end of a document.
        """
        sentences = split("\n".join(lines))
        # A text that spells [MASK] means these characters, not the special token. The blank changes nothing else.
        encoded = self._words.tokens([sentence.replace("[", "[ ") for sentence in sentences])
        has_tokens = encoded.counts > 0
        is_border = np.array([not sentence for sentence in sentences], dtype=np.bool_)
        return encoded.tokens, encoded.counts[has_tokens], np.cumsum(has_tokens)[is_border]
