"""The corpus as token ids in memory-mapped shards: of any size, read anywhere, never in memory as a whole."""

from __future__ import annotations

import errno
import hashlib
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Self, final

import numpy as np

from benchrunner import DataError, RequestError
from benchrunner_bert.pretraining.corpus.manifest import PLAN, FileFacts, Manifest, read_store_file
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary

MANIFEST, VOCABULARY = "manifest.json", "vocab.txt"
SENTENCES, DOCUMENTS = "sentence_starts.npy", "document_starts.npy"


def shard_name(number: int) -> str:
    """The file of a shard's tokens."""
    return f"{number:05}.tokens.npy"


@final
class TokenStore:
    """A finished store. What is in it is read from the disk when it is asked for."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        self.documents, self.sentences, self.tokens = manifest.documents, manifest.sentences, manifest.tokens
        self.document_starts = self._array(DOCUMENTS)
        """int64 (documents + 1,), counted in sentences"""
        self.sentence_starts = self._array(SENTENCES)
        """int64 (sentences + 1,), counted in tokens"""
        self._shards = [self._array(shard_name(number)) for number in range(len(manifest.shards))]
        self._starts = [0, *accumulate(manifest.shards)]
        self._check_lengths()

    @classmethod
    def open(cls, folder: Path) -> Self:
        """What `shards.write` finished; a `DataError` where a file is missing or has another size."""
        manifest = read_manifest(folder)
        if manifest is None:
            state = "is not finished" if (folder / PLAN).exists() else "holds no tokens"
            raise DataError(
                f"{folder} {state}: there is no {MANIFEST}. Write it from its corpus, which goes on where it ended."
            )
        for one in manifest.files:
            _check_size(folder / one.name, one)
        return cls(folder, manifest)

    def verify(self) -> None:
        """Read everything once more; a `DataError` where a file is not what was written."""
        for one in self.manifest.files:
            if file_facts(self.folder / one.name).sha256 != one.sha256:
                raise _damaged(self.folder / one.name, "its checksum is not the manifest's")

    @property
    def vocabulary(self) -> Vocabulary:
        """What its tokens are numbers in."""
        return Vocabulary.read(self.folder / VOCABULARY, lowercase=self.manifest.plan.lowercase)

    def read(self, first: int, last: int) -> np.ndarray:
        """Tokens `first` up to `last`, over all shards: int32 (last - first,)."""
        if not 0 <= first <= last <= self.tokens:
            raise IndexError(f"tokens {first} to {last} of {self.tokens}")
        at = bisect_right(self._starts, first) - 1
        if last <= self._starts[min(at + 1, len(self._shards))]:
            return self._part(at, first, last)
        parts = list[np.ndarray]()
        while first < last:
            stop = min(last, self._starts[at + 1])
            parts.append(self._part(at, first, stop))
            first, at = stop, at + 1
        return np.concatenate([np.empty(0, dtype=np.int32), *parts])

    def _part(self, shard: int, first: int, last: int) -> np.ndarray:
        if first == last:
            return np.empty(0, dtype=np.int32)
        begin = self._starts[shard]
        found: np.ndarray = self._shards[shard][first - begin : last - begin].astype(np.int32)
        return found

    def _array(self, name: str) -> np.ndarray:
        try:
            mapped: np.ndarray = np.load(self.folder / name, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise _damaged(self.folder / name, str(error)) from None
        return mapped.view(np.ndarray)  # numpy's memory-mapped class does more at each access

    def _check_lengths(self) -> None:
        expected = {DOCUMENTS: self.documents + 1, SENTENCES: self.sentences + 1}
        expected |= {shard_name(number): count for number, count in enumerate(self.manifest.shards)}
        arrays = (self.document_starts, self.sentence_starts, *self._shards)
        for (name, count), array in zip(expected.items(), arrays, strict=True):
            if array.shape != (count,):
                raise _damaged(self.folder / name, f"{count:,} numbers were expected, found {array.size:,}")


def read_manifest(folder: Path) -> Manifest | None:
    """A folder's, or None where no store was finished."""
    found = read_store_file(folder / MANIFEST)
    try:
        return None if found is None else Manifest.from_json(found)
    except (KeyError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise DataError(f"{folder / MANIFEST}: nothing that this version can read ({reason}).") from None


def file_facts(path: Path) -> FileFacts:
    try:
        with path.open("rb") as file:
            return FileFacts(path.name, path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())
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
    """What the disk refuses is no fault of the program: say what is kept and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise RequestError(f"{folder}: cannot be written: {error.strerror or error}.") from None
        raise RequestError(
            f"{folder}: the disk is full. What is whole stays; make room and ask again, and it goes on from there."
        ) from None
