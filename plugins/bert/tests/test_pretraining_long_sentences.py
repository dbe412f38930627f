"""All of a text is read where its sentences are longer than a sequence; instances of other texts are as they were."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from instance_samples import instances, made
from pretraining_texts import numbered, vocabulary

from benchrunner_bert.pretraining.corpus import store_writer
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.token_store import TokenStore

LETTERS = "abcdefghij"
HAN = "这是一个没有空格的句子"
KINDS = [("mlm+nsp", "pairs"), ("mlm", "pairs"), ("mlm", "document"), ("ltr", "document"), ("ltr", "text")]
"""Objectives and inputs."""


def words(draw: random.Random, between: str) -> str:
    """Each of several pieces."""
    return between.join("".join(draw.choices(LETTERS, k=draw.randint(1, 9))) for _ in range(400))


def store_of(folder: Path, kind: str) -> TokenStore:
    """Two documents of about 2,000 tokens without an end of a sentence."""
    if kind == "one word a token":
        return numbered(folder, [[2000], [2000]])
    draw = random.Random(1)
    documents = {
        "several tokens a word": lambda: words(draw, " "),
        "no blanks": lambda: words(draw, ","),
        "chinese": lambda: "".join(draw.choices(HAN + "，。", k=2000)),
    }
    text = folder / "corpus.txt"
    text.write_text("\n\n".join(documents[kind]() for _ in range(2)), encoding="utf-8")
    pieces = vocabulary(
        folder / "words.txt", *LETTERS, *(f"##{letter}" for letter in LETTERS), ",", "，", "。", *set(HAN)
    )
    return store_writer.write(folder / "store", Corpus.named([str(text)]), pieces)


@contextmanager
def watched(store: TokenStore) -> Iterator[np.ndarray]:
    """How often each token is read."""
    seen, read = np.zeros(store.tokens, dtype=np.int64), store.read

    def counted(first: int, last: int) -> np.ndarray:
        seen[first:last] += 1
        return read(first, last)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "read", counted)
        yield seen


@pytest.mark.parametrize(
    "kind",
    [
        "several tokens a word",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("one word a token", "no blanks", "chinese")),
    ],
)
def test_nearly_every_token_of_endless_sentences_is_read(tmp_path: Path, kind: str) -> None:
    store = store_of(tmp_path, kind)
    assert 3000 < store.tokens < 7000
    for objective, form in KINDS:
        for length in (32, 128):
            maker = instances(store, objective=objective, input=form, length=length)
            with watched(store) as seen:
                made(maker, 20 * maker.epoch)
            assert (seen > 0).mean() > (0.97 if form == "pairs" else 0.995), (objective, form, length)
            assert np.quantile(seen, 0.95) < 20 * 2.5, "no stretch is read much more often than others"


def test_without_pairs_the_end_of_a_long_last_sentence_is_read(tmp_path: Path) -> None:
    store = numbered(tmp_path, [[60, 3], [64]])
    maker = instances(store, objective="mlm", input="document", length=22, short=0.0)
    with watched(store) as seen:
        made(maker, maker.epoch)
    assert (seen[[0, 43, 62, 63, 107, 126]] >= 1).all()


def test_a_pair_takes_a_random_stretch_of_a_too_long_sentence(tmp_path: Path) -> None:
    maker = instances(store := numbered(tmp_path, [[50, 50]] * 2), length=43, short=0.0)
    with watched(store) as seen:
        made(maker, 1500)
    share = seen.reshape(2, 2, 50).sum((0, 1)) / 3000
    # Of 31 stretches of 20 tokens one holds the first token, and 20 hold one in the middle.
    assert share[[0, -1]] == pytest.approx(1 / 31, abs=0.012)
    assert share[20:30] == pytest.approx(20 / 31, abs=0.04)


@pytest.mark.parametrize(
    ("length", "objective", "form", "expected"),
    [
        (32, "mlm+nsp", "pairs", "1c2be9c8d374018f"),
        (32, "mlm", "document", "cff33cc0ac2e787c"),
        (32, "ltr", "document", "220206ab7dc504cf"),
        (128, "mlm+nsp", "pairs", "7c7fd221af312509"),
        (128, "mlm", "document", "47cc92d45f18d476"),
        (128, "ltr", "document", "3c9f73715e71967f"),
    ],
)
def test_instances_of_sentences_that_fit_have_not_changed(
    tmp_path: Path, length: int, objective: str, form: str, expected: str
) -> None:
    """Written down before long sentences were treated otherwise; two of these sentences fit a sequence."""
    longest = (length - 3) // 2
    documents = [[1 + (7 * at + 3 * document * at * at) % longest for at in range(40)] for document in range(6)]
    store = numbered(tmp_path, [*documents, [5], [2, 3]])
    maker = instances(store, objective=objective, input=form, length=length)
    digest = hashlib.sha256()
    for instance in made(maker, 300):
        for values in (instance.tokens, instance.segments, instance.positions, instance.labels, instance.is_next):
            digest.update(np.asarray(values, dtype=np.int64).tobytes())
    assert digest.hexdigest()[:16] == expected
