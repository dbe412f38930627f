"""Write the corpus as a token store; a writer that was killed continues from the last manifest.

The three files of a store only grow. After every `KEPT_EVERY` tokens the manifest says what they hold, with checksums,
and where in the corpus the writer is; what stands behind is cut off by the next writer. The same corpus gives the same
bytes, whenever writers were stopped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, final

import numpy as np
import xxhash
from filelock import FileLock

from benchrunner import DamagedFile, DataError
from benchrunner.engine import seals
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.manifest import (
    MANIFEST,
    FileFacts,
    Manifest,
    Place,
    Plan,
    begun_manifest,
)
from benchrunner_bert.pretraining.corpus.sentences import split
from benchrunner_bert.pretraining.corpus.sources import Source, check_passages
from benchrunner_bert.pretraining.corpus.token_store import (
    DOCUMENTS,
    FILES,
    SENTENCES,
    TOKENS,
    VOCABULARY,
    TokenStore,
    writing,
)
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_bert.tokenizer import BertTokenizer

KEPT_EVERY = 1 << 25
"""Tokens after which the manifest is written: 64 MiB as 16-bit numbers."""
_CHUNK = 1 << 20
"""Characters that are split and encoded at once; paragraphs stay whole."""


def write(
    folder: Path,
    corpus: Corpus,
    vocabulary: Vocabulary,
    *,
    kept_every: int = KEPT_EVERY,
    tell: Callable[[str], None] = lambda text: None,
) -> TokenStore:
    """Write the token store of a corpus, or finish an unfinished store, or open and verify a finished store.

    `tell` receives lines of progress.
    """
    tokenizer = vocabulary.tokenizer()
    plan = Plan(corpus.facts, tokenizer.fingerprint, vocabulary.size, vocabulary.lowercase, corpus.blank_lines)
    with writing(folder), ExitStack() as opened:
        folder.mkdir(parents=True, exist_ok=True)
        opened.enter_context(FileLock(folder / ".lock"))  # a second process waits, and then opens the finished store
        begun = begun_manifest(folder, plan)
        if not begun.complete:
            for part in folder.glob(".*.part"):  # of a killed writer
                part.unlink()
            known = {file.name: file for file in begun.files}
            files = {}
            for name in FILES:
                file = opened.enter_context((folder / name).open("a+b"))
                files[name] = _GrowingFile(file, known.get(name, FileFacts(name)))
            _Writer(folder, files, tokenizer, kept_every, tell).write(corpus.sources, begun, vocabulary)
    store = TokenStore.open(folder)
    if begun.complete:  # the files of a new store were checked while they were written
        store.verify()
    return store


@final
class _GrowingFile:
    """A file to which bytes are added. What an earlier writer wrote behind `begun` is cut off."""

    def __init__(self, file: IO[bytes], begun: FileFacts) -> None:
        self._file = file
        self._digest = xxhash.xxh3_128()
        file.seek(0)
        while block := file.read(min(_CHUNK, begun.size - file.tell())):
            self._digest.update(block)
        if begun.size and self.facts() != begun:
            path = Path(file.name)
            raise DamagedFile(f"{path}: this file was changed after it was written. {seals.made_again(path.parent)}")
        file.truncate()

    def add(self, content: bytes) -> None:
        """Add bytes to the end of the file."""
        self._digest.update(content)
        self._file.write(content)

    def facts(self) -> FileFacts:
        """Bring everything to the disk; return what the file holds."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return FileFacts(Path(self._file.name).name, self._file.tell(), self._digest.hexdigest())


@final
@dataclass
class _Writer:
    """Reads the sources, and adds their tokens to the files of a store."""

    folder: Path
    files: Mapping[str, _GrowingFile]
    tokenizer: BertTokenizer
    kept_every: int
    tell: Callable[[str], None]
    characters: int = 0
    """Characters read in this call."""

    def write(self, sources: Sequence[Source], manifest: Manifest, vocabulary: Vocabulary) -> None:
        """Write what is missing, up to the complete store."""
        if not manifest.files:
            self.files[VOCABULARY].add(vocabulary.path.read_bytes())
            self._add(SENTENCES, np.zeros(1))
            self._add(DOCUMENTS, np.zeros(1))
            manifest = self._kept(manifest)  # the folder now belongs to this plan
        kept = manifest.tokens
        for lines, place in self._chunks(sources, manifest.next):
            manifest = replace(self._with(lines, manifest), next=place)
            name = sources[min(place.source, len(sources) - 1)].name
            size = manifest.plan.size  # 0 where only the hub knows it
            share = f"{min(1.0, self.characters / size):.0%}, " if size else ""
            self.tell(f"tokens: {share}{manifest.tokens:,} so far ({name})")
            if manifest.tokens - kept >= self.kept_every:
                manifest = self._kept(manifest)
                kept = manifest.tokens
        if not manifest.tokens:
            check_passages(sources)
            names = ", ".join(source.name for source in sources[:3])
            raise DataError(f"The corpus is empty: no word in {names}.")
        self._kept(replace(self._with_ends(np.array([manifest.sentences]), manifest), complete=True))

    def _chunks(self, sources: Sequence[Source], place: Place) -> Iterator[tuple[list[str], Place]]:
        """Give chunks of paragraphs, each with the place where the next chunk begins; small files share a chunk."""
        limit = min(_CHUNK, 4 * self.kept_every)
        lines = list[str]()
        size = 0
        for number in range(place.source, len(sources)):
            skipped = place.item if number == place.source else 0
            for item, line in enumerate(islice(sources[number].paragraphs(), skipped, None), start=skipped + 1):
                lines.append(line)
                size += len(line) + 1
                if size >= limit:
                    self.characters += size
                    yield lines, Place(number, item)
                    lines = []
                    size = 0
        self.characters += size
        yield lines, Place(len(sources))

    def _with(self, lines: list[str], manifest: Manifest) -> Manifest:
        """Split, encode and add paragraphs; return the manifest with them."""
        sentences = split("\n".join(lines))
        # A text that spells [MASK] means these characters, not the special token. The blank changes nothing else.
        encoded = self.tokenizer.words.tokens([sentence.replace("[", "[ ") for sentence in sentences])
        has_tokens = encoded.counts > 0
        self._add(TOKENS, encoded.tokens, manifest.plan.kind)
        self._add(SENTENCES, manifest.tokens + np.cumsum(encoded.counts[has_tokens]))
        is_border = np.array([not sentence for sentence in sentences], dtype=np.bool_)
        before_border = manifest.sentences + np.cumsum(has_tokens)[is_border]
        tokens, count = manifest.tokens + len(encoded.tokens), manifest.sentences + int(has_tokens.sum())
        return self._with_ends(before_border, replace(manifest, tokens=tokens, sentences=count))

    def _with_ends(self, ends: np.ndarray, manifest: Manifest) -> Manifest:
        """Add ends of documents, as numbers of sentences before them; a document without sentences is left out."""
        ends = np.unique(ends[ends > manifest.ended])
        if not len(ends):
            return manifest
        self._add(DOCUMENTS, ends)
        return replace(manifest, documents=manifest.documents + len(ends), ended=int(ends[-1]))

    def _add(self, name: str, values: np.ndarray, kind: str = "int64") -> None:
        self.files[name].add(values.astype(kind).tobytes())

    def _kept(self, manifest: Manifest) -> Manifest:
        """Write the manifest with what the files hold, and return it."""
        kept = replace(manifest, files=tuple(file.facts() for file in self.files.values()))
        seals.write_sealed(self.folder / MANIFEST, kept)
        return kept
