"""The corpus as token ids in memory-mapped shards: of any size, read at any place, never in memory as a whole."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Self, final

import numpy as np

from benchrunner import DataError, RequestError, full_disk
from benchrunner.engine import seals
from benchrunner_bert.pretraining.corpus.manifest import PLAN, FileFacts, Manifest, read_store_file
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary

MANIFEST = "manifest.json"
VOCABULARY = "vocab.txt"
SENTENCES = "sentence_starts.npy"
DOCUMENTS = "document_starts.npy"


def shard_name(number: int) -> str:
    """Name the file of a shard's tokens."""
    return f"{number:05}.tokens.npy"


@final
class TokenStore:
    """A finished store. Its content is read from the disk when it is used."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self.documents = manifest.documents
        self.sentences = manifest.sentences
        self.tokens = manifest.tokens
        self.document_starts = self._array(DOCUMENTS)
        """int64 (documents + 1,): index of the first sentence of each document, and the end"""
        self.sentence_starts = self._array(SENTENCES)
        """int64 (sentences + 1,): index of the first token of each sentence, and the end"""
        self._shards = [self._array(shard_name(number)) for number in range(len(manifest.shards))]
        self._starts = [0, *accumulate(manifest.shards)]
        self._check_lengths()

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a finished store; raise a `DataError` if a file is missing or has another size."""
        manifest = read_manifest(folder)
        if manifest is None:
            state = "is not finished" if (folder / PLAN).exists() else "holds no tokens"
            raise DataError(
                f"{folder} {state}: there is no {MANIFEST}. Write the tokens from their corpus; a writer that was "
                "stopped continues where it stopped."
            )
        for file in manifest.files:
            _check_size(folder / file.name, file)
        return cls(folder, manifest)

    def __reduce__(self) -> tuple[type[Self], tuple[Path, Manifest]]:
        """Let another process open the files instead of getting a copy of their content."""
        return type(self), (self.folder, self.manifest)

    def verify(self) -> None:
        """Read all files; raise a `DataError` if a file has changed since it was written."""
        for file in self.manifest.files:
            if file_facts(self.folder / file.name) != file:
                raise _damaged(self.folder / file.name, "its checksum is not the manifest's")

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that the token ids belong to."""
        return Vocabulary.read(self.folder / VOCABULARY, lowercase=self.manifest.plan.lowercase)

    @property
    def lone_sentences(self) -> int:
        """Number of documents of a single sentence, in which no sentence follows another."""
        return int((np.diff(self.document_starts) < 2).sum())

    def read(self, first: int, last: int) -> np.ndarray:
        """Read tokens `first` up to `last`, from as many shards as hold them: int32 (last - first,)."""
        if not 0 <= first <= last <= self.tokens:
            raise IndexError(f"tokens {first} to {last} of {self.tokens}")
        shard = bisect_right(self._starts, first) - 1
        if last <= self._starts[min(shard + 1, len(self._shards))]:
            return self._part(shard, first, last)
        parts = list[np.ndarray]()
        while first < last:
            stop = min(last, self._starts[shard + 1])
            parts.append(self._part(shard, first, stop))
            first = stop
            shard += 1
        return np.concatenate([np.empty(0, dtype=np.int32), *parts])

    def _part(self, shard: int, first: int, last: int) -> np.ndarray:
        if first == last:
            return np.empty(0, dtype=np.int32)
        begin = self._starts[shard]
        tokens: np.ndarray = self._shards[shard][first - begin : last - begin].astype(np.int32)
        return tokens

    def _array(self, name: str) -> np.ndarray:
        try:
            mapped: np.ndarray = np.load(self.folder / name, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise _damaged(self.folder / name, str(error)) from None
        return mapped.view(np.ndarray)  # faster: numpy's class of memory-mapped arrays does extra work at each access

    def _check_lengths(self) -> None:
        expected = {DOCUMENTS: self.documents + 1, SENTENCES: self.sentences + 1}
        expected |= {shard_name(number): count for number, count in enumerate(self.manifest.shards)}
        arrays = (self.document_starts, self.sentence_starts, *self._shards)
        for (name, count), array in zip(expected.items(), arrays, strict=True):
            if array.shape != (count,):
                raise _damaged(self.folder / name, f"{count:,} numbers were expected, found {array.size:,}")


def read_manifest(folder: Path) -> Manifest | None:
    """Read the manifest of a folder; None where no store was finished."""
    return read_store_file(Manifest, folder / MANIFEST)


def file_facts(path: Path) -> FileFacts:
    """Give the size and the checksum of a file of the store."""
    try:
        return FileFacts(path.name, path.stat().st_size, seals.file_checksum(path))
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from None


def _check_size(path: Path, facts: FileFacts) -> None:
    if not path.is_file():
        raise _damaged(path, "there is no such file")
    if (size := path.stat().st_size) != facts.size:
        raise _damaged(path, f"{facts.size:,} bytes were expected, found {size:,}")


def _damaged(path: Path, reason: str) -> DataError:
    return DataError(f"{path}: {reason}. Remove the folder, and write it again from its corpus.")


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn errors of the system while a folder is written into errors that say what is kept and what to do."""
    try:
        yield
    except OSError as error:
        if not full_disk(error):
            raise RequestError(f"{folder}: cannot be written: {error.strerror or error}.") from None
        raise RequestError(
            f"{folder}: the disk is full, or no file may be so large (ulimit -f). Complete files are kept: make room "
            "and ask again, and the writer continues from there."
        ) from None
