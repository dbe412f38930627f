"""Token stores: whole, the same bytes every time, and finished by whoever comes after a killed writer."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from pretraining_texts import numbered, vocabulary

import forked
from benchrunner import DamagedFile, DataError, RequestError
from benchrunner.engine import seals
from benchrunner.io.seals import sealed
from benchrunner_bert.backbones import VOCABULARY
from benchrunner_bert.pretraining.corpus import sentences, store_writer
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.manifest import Manifest, Plan, SourceFacts, begun_manifest, read_manifest
from benchrunner_bert.pretraining.corpus.sources import Source, TextFile
from benchrunner_bert.pretraining.corpus.store_writer import write
from benchrunner_bert.pretraining.corpus.token_store import TokenStore
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary

WORDS = Vocabulary.read(VOCABULARY)
TEXTS = {
    "a.txt": "One man came. Two went.\nA second paragraph.\n\nAnother document. It is short.\n",
    "b.txt": "\n\n",
    "c.jsonl": '{"text": "A third one. Told in JSON.\\nWith two paragraphs."}\n{"text": "And a fourth."}\n',
}
DOCUMENTS = [
    ["One man came.", "Two went.", "A second paragraph."],
    ["Another document.", "It is short."],
    ["A third one.", "Told in JSON.", "With two paragraphs."],
    ["And a fourth."],
]


def corpus(folder: Path) -> Corpus:
    folder.mkdir(exist_ok=True)
    for name, content in TEXTS.items():
        (folder / name).write_text(content, encoding="utf-8")
    return Corpus.named([str(folder)])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}


def documents(store: TokenStore) -> list[list[list[int]]]:
    """The tokens of each sentence of each document."""

    def sentence(number: int) -> list[int]:
        found: list[int] = store.read(*store.sentence_starts[number : number + 2].tolist()).tolist()
        return found

    return [list(map(sentence, range(*borders))) for borders in pairwise(store.document_starts.tolist())]


@pytest.mark.parametrize("kept_every", [1, 5, 12, 1000])
def test_a_store_holds_tokens_and_sentence_and_document_starts(tmp_path: Path, kept_every: int) -> None:
    store = write(tmp_path / "store", corpus(tmp_path / "in"), WORDS, kept_every=kept_every)
    tokenizer = WORDS.tokenizer()
    for found, texts in zip(documents(store), DOCUMENTS, strict=True):
        assert found == [tokenizer.pieces([text]).tokens.tolist() for text in texts]
    assert (store.documents, store.sentences) == (4, 9)
    assert store.tokens == store.sentence_starts[-1]
    assert store.document_starts.dtype == store.sentence_starts.dtype == np.int64
    assert store.vocabulary.special == WORDS.special
    store.verify()
    with pytest.raises(IndexError):
        store.read(0, store.tokens + 1)


@pytest.mark.parametrize(("pieces", "kind"), [(65_536, np.uint16), (65_537, np.int32)])
def test_tokens_take_two_bytes_where_the_vocabulary_fits(tmp_path: Path, pieces: int, kind: type) -> None:
    words = vocabulary(tmp_path / "vocab.txt", *(f"x{number}" for number in range(5, pieces)))
    (tmp_path / "a.txt").write_text(f"x5 x{pieces - 1}", encoding="utf-8")
    store = write(tmp_path / "store", Corpus.named([str(tmp_path / "a.txt")]), words)
    assert (tmp_path / "store" / "tokens.bin").read_bytes() == np.array([5, pieces - 1], dtype=kind).tobytes()
    assert store.read(0, 2).tolist() == [5, pieces - 1]


# Interruptions


@dataclass(frozen=True)
class Failing(Source):
    """A source that ends in an error after so many paragraphs."""

    source: Source
    after: int
    name: str = "corpus.txt"

    def facts(self) -> SourceFacts:
        return self.source.facts()

    def paragraphs(self) -> Iterator[str]:
        yield from itertools.islice(self.source.paragraphs(), self.after)
        raise RuntimeError


def test_a_writer_stopped_anywhere_is_resumed_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = numbered(tmp_path, [[5, 3, 9] * 2, [8] * 5, [1] * 9], kept_every=16)
    words, text = whole.vocabulary, TextFile(tmp_path / "corpus.txt", "corpus.txt")
    for after in range(0, 24, 3):
        with pytest.raises(RuntimeError):
            write(tmp_path / "again", Corpus((Failing(text, after),)), words, kept_every=16)
        if after % 2:  # and what a writer left behind the manifest is cut off
            with (tmp_path / "again" / "tokens.bin").open("ab") as file:
                file.write(b"\xff" * 9)
            (tmp_path / "again" / ".manifest.json.1.part").write_bytes(b"half")
    with pytest.raises(DataError, match=r"again is not finished \(see manifest\.json\)"):
        TokenStore.open(tmp_path / "again")
    encoded = list[str]()
    monkeypatch.setattr(store_writer, "split", lambda content: encoded.append(content) or sentences.split(content))
    write(tmp_path / "again", Corpus((text,)), words, kept_every=16)
    assert contents(tmp_path / "again") == contents(whole.folder)
    assert sum(map(len, encoded)) < text.path.stat().st_size / 2, "what was written is not encoded again"


def test_a_full_disk_is_told_and_what_is_whole_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, calls = corpus(tmp_path / "in"), itertools.count()

    def full(file: int) -> None:
        if next(calls) > 20:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(store_writer.os, "fsync", full)
        with pytest.raises(RequestError, match="the disk is full"):
            write(tmp_path / "store", texts, WORDS, kept_every=5)
    kept = read_manifest(tmp_path / "store")
    assert kept is not None and kept.tokens > 0 and not kept.complete
    for name in ("store", "whole"):
        write(tmp_path / name, texts, WORDS, kept_every=5)
    assert contents(tmp_path / "store") == contents(tmp_path / "whole")


def test_what_was_written_and_then_damaged_is_refused(tmp_path: Path) -> None:
    texts = corpus(tmp_path / "in")
    source = texts.sources[2]
    begun = Corpus((*texts.sources[:2], Failing(source, 1, source.name)))
    with pytest.raises(RuntimeError):
        write(tmp_path / "store", begun, WORDS, kept_every=1)
    path = tmp_path / "store" / "tokens.bin"
    path.write_bytes(b"\xff" + path.read_bytes()[1:])
    with pytest.raises(
        DamagedFile, match=r"tokens\.bin: this file was changed after it was written\. Remove .*store and"
    ):
        write(tmp_path / "store", texts, WORDS, kept_every=1)


# Refusals


def test_a_changed_corpus_is_refused_naming_the_first_difference(tmp_path: Path) -> None:
    begun = corpus(tmp_path / "in")
    write(tmp_path / "store", begun, WORDS)
    for content in ("More.", "ab"):
        (tmp_path / "in" / "b.txt").write_text(content, encoding="utf-8")
        with pytest.raises(DataError, match=r"b\.txt is not what it was"):
            write(tmp_path / "store", Corpus(begun.sources), WORDS)
    corpus(tmp_path / "in")
    for sources, reason in (
        (begun.sources[:2], r"The corpus has changed: c\.jsonl is gone"),
        (begun.sources[1:], r"a\.txt was expected next, found b\.txt"),
        ((*begun.sources, begun.sources[0]), r"a\.txt is new"),
    ):
        with pytest.raises(DataError, match=reason):
            write(tmp_path / "store", Corpus(sources), WORDS)
    write(tmp_path / "store", begun, WORDS)


def test_how_a_data_set_that_grew_is_named_as_it_was_is_told(tmp_path: Path) -> None:
    def plan(revision: str) -> Plan:
        return Plan((SourceFacts("hub:a/b,,train", revision=revision),), "", 9, True, 1)

    seals.write_sealed(tmp_path / "manifest.json", Manifest(plan("0123456789abcdef")))
    named = r"The old data set is hub:a/b,,train@0123456789abcdef\."
    with pytest.raises(DataError, match=rf"is not what it was.*{named}"):
        begun_manifest(tmp_path, plan("fedcba9876543210"))


def test_other_settings_and_files_for_folders_are_refused(tmp_path: Path) -> None:
    texts = corpus(tmp_path / "in")
    write(tmp_path / "store", texts, WORDS)
    with pytest.raises(RequestError, match="begun with blank lines 1, now it is 0"):
        write(tmp_path / "store", replace(texts, blank_lines=0), WORDS)
    with pytest.raises(RequestError, match="begun with tokenizer"):
        write(tmp_path / "store", texts, replace(WORDS, lowercase=False))
    with pytest.raises(RequestError, match=r"a\.txt: cannot be written: File exists"):
        write(tmp_path / "in" / "a.txt", texts, WORDS)


def test_a_corpus_without_words_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(" \n\n\u200b\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"The corpus is empty: no word in a\.txt"):
        write(tmp_path / "store", Corpus.named([str(tmp_path / "a.txt")]), WORDS)


@pytest.mark.parametrize("name", ["tokens.bin", "sentence_starts.bin", "document_starts.bin", "vocab.txt"])
def test_a_store_with_a_damaged_file_is_refused(tmp_path: Path, name: str) -> None:
    """Missing and cut files, and, where a run opens its store, a flipped bit."""
    write(tmp_path / "store", corpus(tmp_path / "in"), WORDS, kept_every=5)
    path = tmp_path / "store" / name
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(DamagedFile, match=rf"{name}: .*Remove "):
        write(tmp_path / "store", corpus(tmp_path / "in"), WORDS, kept_every=5)
    path.write_bytes(content[:-1])
    with pytest.raises(DamagedFile, match=rf"{name}: {len(content):,} bytes were expected, found {len(content) - 1:,}"):
        TokenStore.open(tmp_path / "store")
    path.unlink()
    with pytest.raises(DamagedFile, match=f"{name}: {len(content):,} bytes were expected, there is no such file"):
        TokenStore.open(tmp_path / "store")


def test_a_missing_store_or_damaged_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no tokens"):
        TokenStore.open(tmp_path)
    for content in (b"{", b"[]", b'{"format": 2}', sealed({"format": 2}), sealed({"format": 3, "plan": {}})):
        (tmp_path / "manifest.json").write_bytes(content)
        with pytest.raises(RequestError, match=r"manifest\.json:"):
            TokenStore.open(tmp_path)


def test_two_writers_of_one_store_do_not_disturb_each_other(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path;"
        "from benchrunner_bert.pretraining.corpus import corpus, store_writer, vocabulary;"
        "store_writer.write(Path(sys.argv[1]), corpus.Corpus.named([sys.argv[2]]),"
        "vocabulary.Vocabulary.read(Path(sys.argv[3])), kept_every=5)"
    )
    alone = write(tmp_path / "alone", corpus(tmp_path / "in"), WORDS, kept_every=5)
    arguments = ["-c", script, str(tmp_path / "store"), str(tmp_path / "in"), str(VOCABULARY)]
    writers = [forked.Process(arguments) for _ in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert contents(tmp_path / "store") == contents(alone.folder)
