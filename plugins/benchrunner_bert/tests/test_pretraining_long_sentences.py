"""All of a text is read where its sentences are longer than a sequence."""

from __future__ import annotations

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
