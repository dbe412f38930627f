"""The corpus as token ids in memory-mapped files: of any size, read at any place, never in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self, final

import numpy as np

from benchrunner import DamagedFile, DataError, RequestError, full_disk
from benchrunner.engine import seals
from benchrunner_bert.pretraining.corpus.manifest import MANIFEST, Manifest, read_manifest
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary

VOCABULARY = "vocab.txt"
TOKENS = "tokens.bin"
SENTENCES = "sentence_starts.bin"
DOCUMENTS = "document_starts.bin"
FILES = (VOCABULARY, TOKENS, SENTENCES, DOCUMENTS)
"""The files of a store, each of which only grows."""


@final
class TokenStore:
    """A finished store. Its content is read from the disk when it is used."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self.documents = manifest.documents
        self.sentences = manifest.sentences
        self.tokens = manifest.tokens
        self.document_starts = self._array(DOCUMENTS, "int64")
        """int64 (documents + 1,): index of the first sentence of each document, and the end"""
        self.sentence_starts = self._array(SENTENCES, "int64")
        """int64 (sentences + 1,): index of the first token of each sentence, and the end"""
        self._tokens = self._array(TOKENS, manifest.plan.kind)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a finished store; raise a `DataError` if a file is missing or has another size."""
        manifest = read_manifest(folder)
        if manifest is None or not manifest.complete:
            state = "is not finished" if manifest else "holds no tokens"
            raise DataError(
                f"{folder} {state} (see {MANIFEST}). Write the tokens from their corpus; a writer that was stopped "
                "continues where it stopped."
            )
        for file in manifest.files:
            path = folder / file.name
            size = path.stat().st_size if path.is_file() else None
            if size != file.size:
                found = "there is no such file" if size is None else f"found {size:,}"
                raise DamagedFile(f"{path}: {file.size:,} bytes were expected, {found}. {seals.made_again(folder)}")
        return cls(folder, manifest)

    def __reduce__(self) -> tuple[type[Self], tuple[Path, Manifest]]:
        """Let another process open the files instead of getting a copy of their content."""
        return type(self), (self.folder, self.manifest)

    def verify(self) -> None:
        """Read all files; raise a `DamagedFile` if a file has changed since it was written."""
        seals.check_files(
            self.folder, {file.name: file.checksum for file in self.manifest.files}, seals.made_again(self.folder)
        )

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that the token ids belong to."""
        return Vocabulary.read(self.folder / VOCABULARY, lowercase=self.manifest.plan.lowercase)

    @property
    def lone_sentences(self) -> int:
        """Number of documents of a single sentence, in which no sentence follows another."""
        return int((np.diff(self.document_starts) < 2).sum())

    def read(self, first: int, last: int) -> np.ndarray:
        """Read tokens `first` up to `last`: int32 (last - first,)."""
        if not 0 <= first <= last <= self.tokens:
            raise IndexError(f"tokens {first} to {last} of {self.tokens}")
        tokens: np.ndarray = self._tokens[first:last].astype(np.int32)
        return tokens

    def _array(self, name: str, kind: str) -> np.ndarray:
        mapped = np.memmap(self.folder / name, dtype=kind, mode="r")
        return mapped.view(np.ndarray)  # faster: numpy's class of memory-mapped arrays does extra work at each access


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn errors of the system while a folder is written into errors that say what is kept and what to do."""
    try:
        yield
    except OSError as error:
        if not full_disk(error):
            raise RequestError(f"{folder}: cannot be written: {error.strerror or error}.") from None
        raise RequestError(
            f"{folder}: the disk is full, or no file may be so large (ulimit -f). What was written is kept: make room "
            "and ask again, and the writer continues from there."
        ) from None
