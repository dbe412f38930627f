"""Token stores: whole, the same bytes every time, and finished by whoever comes after a killed writer."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from pretraining_texts import FIRST, numbered, vocabulary

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


def test_any_range_of_tokens_is_read(tmp_path: Path) -> None:
    store = numbered(tmp_path, [[1, 2], [3], [10, 1, 20, 7], [2, 2]], kept_every=6)
    assert np.diff(store.document_starts).tolist() == [2, 1, 4, 2]
    for first in range(store.tokens + 1):
        for last in range(first, store.tokens + 1):
            found = store.read(first, last)
            assert found.dtype == np.int32 and found.tolist() == list(range(FIRST + first, FIRST + last))
    with pytest.raises(IndexError):
        store.read(0, store.tokens + 1)


@pytest.mark.parametrize(("pieces", "kind"), [(65_536, np.uint16), (65_537, np.int32)])
def test_tokens_take_two_bytes_where_the_vocabulary_fits(tmp_path: Path, pieces: int, kind: type) -> None:
    words = vocabulary(tmp_path / "vocab.txt", *(f"x{number}" for number in range(pieces - 5)))
    (tmp_path / "a.txt").write_text(f"x0 x{pieces - 6}", encoding="utf-8")
    store = write(tmp_path / "store", Corpus.named([str(tmp_path / "a.txt")]), words)
    assert (tmp_path / "store" / "tokens.bin").read_bytes() == np.array([5, pieces - 1], dtype=kind).tobytes()
    assert store.read(0, 2).tolist() == [5, pieces - 1]


def test_the_manifest_counts_what_was_unusual(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfOne.\r\nTw\xff.\r\n")
    store = write(tmp_path / "store", Corpus.named([str(tmp_path / "a.txt")]), WORDS)
    (facts,) = store.manifest.sources
    assert (facts.name, facts.bom, facts.crlf, facts.bad_bytes, facts.size) == ("a.txt", True, 2, 1, 15)
    saved = json.loads((tmp_path / "store" / "manifest.json").read_text(encoding="utf-8"))
    assert saved["plan"]["sources"][0]["bad_bytes"] == 1


def test_a_finished_store_is_not_written_again(tmp_path: Path) -> None:
    write(tmp_path / "store", corpus(tmp_path / "in"), WORDS)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "store").glob("*.*")}
    said = list[str]()
    write(tmp_path / "store", corpus(tmp_path / "in"), WORDS, tell=said.append)
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "store").glob("*.*")} == before
    assert said == []


# Interruptions

KILLED = """
import sys, time
from pathlib import Path
from benchrunner_bert.pretraining.corpus import sentences, store_writer
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
folder, text, words, moment = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4]
keeping = []

def wait():
    print("now", flush=True)
    time.sleep(600)

def report(text):
    if moment == "reading" and len(keeping) == 3:
        wait()

kept = store_writer.seals.write_sealed
def write_sealed(path, manifest):
    keeping.append(manifest)
    if (moment == "keeping" and len(keeping) == 4) or (moment == "ending" and manifest.complete):
        (path.parent / ".manifest.json.1.part").write_bytes(b"half")
        wait()
    kept(path, manifest)

store_writer.seals.write_sealed = write_sealed
store_writer.write(folder, Corpus.named([text]), Vocabulary.read(words), kept_every=40, tell=report)
"""


@pytest.mark.parametrize("moment", ["reading", "keeping", "ending"])
def test_a_writer_killed_by_sigkill_is_resumed_to_the_same_bytes(
    tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the same bytes, after kill -9, without what was written being encoded again."""
    whole = numbered(tmp_path, [[5, 3, 9] * 4, [8] * 10, [1] * 30], kept_every=40)
    text, words = tmp_path / "corpus.txt", tmp_path / "words.txt"
    writer = forked.Process(["-c", KILLED, str(tmp_path / "again"), str(text), str(words), moment])
    while writer.output() != "now\n":
        assert writer.poll() is None, writer.communicate()
        time.sleep(0.01)
    writer.kill()
    assert writer.wait() == -signal.SIGKILL
    with pytest.raises(DataError, match=r"again is not finished \(see manifest\.json\)"):
        TokenStore.open(tmp_path / "again")
    split_texts = list[str]()

    def split(content: str) -> list[str]:
        split_texts.append(content)
        return sentences.split(content)

    monkeypatch.setattr(store_writer, "split", split)
    write(tmp_path / "again", Corpus.named([str(text)]), Vocabulary.read(words), kept_every=40)
    assert contents(tmp_path / "again") == contents(whole.folder)
    assert sum(map(len, split_texts)) < text.stat().st_size * 0.8


@dataclass(frozen=True)
class Failing(Source):
    """A source that ends in an error after so many paragraphs."""

    source: Source
    after: int
    error: Exception
    name: str = "corpus.txt"

    def facts(self) -> SourceFacts:
        return self.source.facts()

    def paragraphs(self) -> Iterator[str]:
        for number, one in enumerate(self.source.paragraphs()):
            if number == self.after:
                raise self.error
            yield one


def test_a_writer_stopped_anywhere_is_resumed_to_the_same_bytes(tmp_path: Path) -> None:
    whole = numbered(tmp_path, [[5, 3, 9] * 2, [8] * 5, [1] * 9], kept_every=16)
    words, text = whole.vocabulary, TextFile(tmp_path / "corpus.txt", "corpus.txt")
    for after in range(0, 24, 3):
        with pytest.raises(RuntimeError):
            write(tmp_path / "again", Corpus((Failing(text, after, RuntimeError()),)), words, kept_every=16)
        if after % 2:  # and what a writer left behind the manifest is cut off
            with (tmp_path / "again" / "tokens.bin").open("ab") as file:
                file.write(b"\xff" * 9)
    write(tmp_path / "again", Corpus((text,)), words, kept_every=16)
    assert contents(tmp_path / "again") == contents(whole.folder)


def test_a_full_disk_is_told_and_what_is_whole_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = corpus(tmp_path / "in")
    fsync = os.fsync
    calls = list[int]()

    def full(file: int) -> None:
        calls.append(file)
        if len(calls) > 20:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(file)

    monkeypatch.setattr(store_writer.os, "fsync", full)
    with pytest.raises(RequestError, match="the disk is full"):
        write(tmp_path / "store", texts, WORDS, kept_every=5)
    monkeypatch.undo()
    kept = read_manifest(tmp_path / "store")
    assert kept is not None and kept.tokens > 0 and not kept.complete
    write(tmp_path / "store", texts, WORDS, kept_every=5)
    write(tmp_path / "whole", texts, WORDS, kept_every=5)
    assert contents(tmp_path / "store") == contents(tmp_path / "whole")


def test_what_was_written_and_then_damaged_is_refused(tmp_path: Path) -> None:
    texts = corpus(tmp_path / "in")
    source = texts.sources[2]
    begun = Corpus((*texts.sources[:2], Failing(source, 1, RuntimeError(), source.name)))
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
    (tmp_path / "in" / "b.txt").write_text("More.", encoding="utf-8")
    (tmp_path / "in" / "c.jsonl").write_text('{"text": "Other."}', encoding="utf-8")
    with pytest.raises(DataError, match=r"b\.txt is not what it was"):
        write(tmp_path / "store", Corpus(begun.sources), WORDS)
    (tmp_path / "in" / "b.txt").write_text("ab", encoding="utf-8")
    with pytest.raises(DataError, match=r"b\.txt is not what it was"):
        write(tmp_path / "store", Corpus(begun.sources), WORDS)
    corpus(tmp_path / "in")
    with pytest.raises(DataError, match=r"The corpus has changed: c\.jsonl is gone"):
        write(tmp_path / "store", Corpus(begun.sources[:2]), WORDS)
    with pytest.raises(DataError, match=r"a\.txt was expected next, found b\.txt"):
        write(tmp_path / "store", Corpus(begun.sources[1:]), WORDS)
    with pytest.raises(DataError, match=r"a\.txt is new"):
        write(tmp_path / "store", Corpus((*begun.sources, begun.sources[0])), WORDS)
    write(tmp_path / "store", begun, WORDS)


def test_how_a_data_set_that_grew_is_named_as_it_was_is_told(tmp_path: Path) -> None:
    def plan(revision: str) -> Plan:
        return Plan((SourceFacts("hub:a/b,,train", revision=revision),), "", 9, True, 1)

    seals.write_sealed(tmp_path / "manifest.json", Manifest(plan("0123456789abcdef")))
    named = r"The old data set is hub:a/b,,train@0123456789abcdef\."
    with pytest.raises(DataError, match=rf"is not what it was.*{named}"):
        begun_manifest(tmp_path, plan("fedcba9876543210"))


def test_other_settings_are_refused(tmp_path: Path) -> None:
    texts = corpus(tmp_path / "in")
    write(tmp_path / "store", texts, WORDS)
    with pytest.raises(RequestError, match="begun with blank lines 1, now it is 0"):
        write(tmp_path / "store", replace(texts, blank_lines=0), WORDS)
    with pytest.raises(RequestError, match="begun with tokenizer"):
        write(tmp_path / "store", texts, replace(WORDS, lowercase=False))


def test_a_corpus_without_words_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(" \n\n\u200b\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"The corpus is empty: no word in a\.txt"):
        write(tmp_path / "store", Corpus.named([str(tmp_path / "a.txt")]), WORDS)


def test_a_folder_that_cannot_be_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file", encoding="utf-8")
    with pytest.raises(RequestError, match="store: cannot be written: File exists"):
        write(tmp_path / "store", corpus(tmp_path / "in"), WORDS)


@pytest.mark.parametrize("name", ["tokens.bin", "sentence_starts.bin", "document_starts.bin", "vocab.txt"])
def test_a_store_with_a_missing_or_cut_file_is_refused(tmp_path: Path, name: str) -> None:
    write(tmp_path / "store", corpus(tmp_path / "in"), WORDS, kept_every=5)
    path = tmp_path / "store" / name
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(DamagedFile, match=rf"{name}: {len(content):,} bytes were expected, found {len(content) - 1:,}"):
        TokenStore.open(tmp_path / "store")
    path.unlink()
    with pytest.raises(DamagedFile, match=f"{name}: {len(content):,} bytes were expected, there is no such file"):
        TokenStore.open(tmp_path / "store")


def test_a_flipped_bit_is_found_when_a_run_opens_its_store(tmp_path: Path) -> None:
    write(tmp_path / "store", corpus(tmp_path / "in"), WORDS)
    path = tmp_path / "store" / "tokens.bin"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedFile, match=r"tokens\.bin: .*Remove "):
        write(tmp_path / "store", corpus(tmp_path / "in"), WORDS)


def test_a_missing_store_or_damaged_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no tokens"):
        TokenStore.open(tmp_path)
    for content in (b"{", b"[]", b'{"format": 2}', sealed({"format": 2}), sealed({"format": 3, "plan": {}})):
        (tmp_path / "manifest.json").write_bytes(content)
        with pytest.raises(RequestError, match=r"manifest\.json:"):
            TokenStore.open(tmp_path)


def test_two_writers_of_one_store_do_not_disturb_each_other(tmp_path: Path) -> None:
    corpus(tmp_path / "in")
    script = (
        "import sys; from pathlib import Path;"
        "from benchrunner_bert.pretraining.corpus import corpus, store_writer, vocabulary;"
        "store_writer.write(Path(sys.argv[1]), corpus.Corpus.named([sys.argv[2]]),"
        "vocabulary.Vocabulary.read(Path(sys.argv[3])), kept_every=5)"
    )
    arguments = ["-c", script, str(tmp_path / "store"), str(tmp_path / "in"), str(VOCABULARY)]
    writers = [forked.Process(arguments) for _ in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    write(tmp_path / "alone", corpus(tmp_path / "in"), WORDS, kept_every=5)
    assert contents(tmp_path / "store") == contents(tmp_path / "alone")
    shutil.rmtree(tmp_path / "alone")
