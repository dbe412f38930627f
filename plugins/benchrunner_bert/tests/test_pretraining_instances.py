"""Instances are what Devlin et al. 2019 (3.1, A.2) say, checked on corpora in which every token tells its place."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies
from instance_samples import LEAST, homes, instances, made, original, pooled, spans
from pretraining_texts import CLS, FIRST, SEP, UNK, Documents, numbered, vocabulary
from scipy import stats

from benchrunner import DataError
from benchrunner_bert.pretraining.corpus import store_writer
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.sources import TextFile
from benchrunner_bert.pretraining.corpus.token_store import TokenStore
from benchrunner_bert.pretraining.instances.instance import Instance

DOCUMENTS = strategies.lists(
    strategies.lists(strategies.integers(1, 9), min_size=1, max_size=7), min_size=2, max_size=6
).filter(lambda documents: sum(len(sentences) > 1 for sentences in documents) > 1)

KINDS = [
    ("mlm+nsp", "pairs"),
    ("mlm", "pairs"),
    ("mlm", "document"),
    ("ltr", "pairs"),
    ("ltr", "text"),
]
"""Objectives and inputs."""


@given(
    documents=DOCUMENTS,
    kind=strategies.sampled_from(KINDS),
    length=strategies.integers(5, 40),
    short=strategies.sampled_from([0.0, 0.1, 1.0]),
    seed=strategies.integers(0, 2**40),
)
@settings(max_examples=25, deadline=None)
def test_every_instance_is_what_it_says(
    tmp_path_factory: pytest.TempPathFactory,
    documents: Documents,
    kind: tuple[str, str],
    length: int,
    short: float,
    seed: int,
) -> None:
    """Spans are unbroken runs inside one document, sizes fit, labels are what stood there, no special is chosen."""
    objective, form = kind
    store = numbered(tmp_path_factory.mktemp("corpus"), documents)
    home = homes(documents)
    maker = instances(store, objective=objective, input=form, length=length, short=short, seed=seed)
    for index in (*range(12), 10**6, 10**12):
        instance = maker.make(index)
        tokens, places, labels = instance.tokens, instance.positions.tolist(), instance.labels.tolist()
        assert (tokens.dtype, instance.segments.dtype, instance.labels.dtype) == (np.int32, np.int8, np.int32)
        assert len(tokens) == len(instance.segments) <= length
        if objective == "ltr":
            assert places == list(range(len(tokens) - 1)) and labels == tokens[1:].tolist()
            whole = tokens
        else:
            assert places and places == sorted(set(places)) and min(labels) >= FIRST
            whole = original(instance)
        texts = [(whole - FIRST).tolist()] if form == "text" else spans(whole)
        for text in texts:
            assert text == list(range(text[0], text[-1] + 1))
            assert home[text[0]] == home[text[-1]]
        special = 0 if form == "text" else 2
        second = sum(len(text) + 1 for text in texts[1:])
        assert instance.segments.tolist() == [0] * (len(texts[0]) + special) + [1] * second
        assert len(texts) == (2 if form == "pairs" else 1)
        if objective == "mlm+nsp":
            check_order(instance, texts, home, whole=len(tokens) < length)
        else:
            assert instance.is_next == -1


def check_order(instance: Instance, texts: list[list[int]], home: np.ndarray, *, whole: bool) -> None:
    """What `is_next` says is so; `whole` spans, of which nothing was cut, follow each other directly."""
    if instance.is_next:
        assert home[texts[0][0]] == home[texts[1][0]] and texts[0][-1] < texts[1][0]
        assert not whole or texts[0][-1] + 1 == texts[1][0]
    else:
        assert home[texts[0][0]] != home[texts[1][0]]


def test_spans_begin_and_end_with_sentences_where_nothing_is_cut(tmp_path: Path) -> None:
    documents = [[3, 5, 2, 7, 4, 1, 6] * 5, [2, 8, 3, 3, 5] * 7, [4, 4]]
    store = numbered(tmp_path, documents)
    borders = set(store.sentence_starts.tolist())
    firsts = set(store.sentence_starts[store.document_starts[:-1]].tolist())
    seen = Counter[int]()
    for instance in made(instances(store, length=64, short=0.5), 400):
        if len(instance.tokens) == 64:
            continue
        (begin, *_, middle), (second, *_, end) = (text * 2 for text in spans(original(instance)))
        assert {begin, middle + 1, second, end + 1} <= borders
        # A true second span is never the beginning of a document, so a random one must not be either.
        assert second not in firsts
        seen[instance.is_next] += 1
    assert min(seen[0], seen[1]) > 50


# What objectives share


@pytest.fixture(scope="module")
def ragged(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    """Documents and sentences of many lengths, a document of one sentence among them."""
    draw = np.random.default_rng(5)
    documents = [draw.integers(1, 30, size=draw.integers(2, 60)).tolist() for _ in range(30)]
    return numbered(tmp_path_factory.mktemp("ragged"), [*documents, [12]])


def test_objectives_read_the_same_pairs(ragged: TokenStore) -> None:
    """With the same masks, where there are masks."""
    names = ("mlm+nsp", "mlm", "ltr")
    whole, alone, *unmasked = (made(instances(ragged, objective=name, length=64), 300) for name in names)
    for paired, instance, *others in zip(whole, alone, *unmasked, strict=True):
        for name in ("tokens", "segments", "positions", "labels"):
            assert np.array_equal(getattr(paired, name), getattr(instance, name))
        for other in others:
            assert np.array_equal(original(paired), other.tokens) and np.array_equal(paired.segments, other.segments)
        assert paired.is_next in (0, 1) and {each.is_next for each in (instance, *others)} == {-1}
    segments = np.concatenate([instance.segments for instance in alone])
    assert 0.4 < segments.mean() < 0.6, "both segments are trained"


# Truncation


def reference(first: int, second: int, room: int) -> tuple[int, int]:
    """The released code's loop over one token at a time, without its coin."""
    while first + second > room:
        if first > second:
            first -= 1
        else:
            second -= 1
    return first, second


@pytest.mark.parametrize(("first", "second"), [(40, 40), (41, 40), (40, 41), (60, 15), (15, 60), (64, 1), (1, 64)])
@pytest.mark.parametrize("length", [5, 6, 20, 39, 40, 64])
def test_the_longer_span_loses_tokens_as_in_the_released_code(
    tmp_path: Path, first: int, second: int, length: int
) -> None:
    store = numbered(tmp_path, [[first, second]] * 2)
    for instance in made(instances(store, length=length, short=0.0), 20):
        lengths = tuple(map(len, spans(original(instance))))
        assert lengths == reference(first, second, length - 3)


def test_tokens_are_lost_from_front_or_back_by_a_coin_toss(tmp_path: Path) -> None:
    """Of spans of several sentences: two of 60 tokens each lose 10."""
    maker = instances(numbered(tmp_path, [[30] * 4] * 2), length=103, short=0.0)
    texts = [text for index in range(3000) for text in spans(original(maker.make(index))) if len(text) == 50]
    fronts = [text[0] % 30 for text in texts]
    assert len(fronts) > 500
    expected = stats.binom.pmf(np.arange(11), 10, 0.5) * len(fronts)
    assert pooled(np.bincount(fronts, minlength=11), expected) > LEAST


# What is chosen


def test_special_tokens_are_never_chosen_unknown_ones_on_request(tmp_path: Path) -> None:
    """An unknown word is [UNK]; a text that spells [MASK] holds the word mask."""
    words = vocabulary(tmp_path / "vocab.txt", "a", "mask", "sep")
    text = tmp_path / "a.txt"
    text.write_text("a strange [MASK] a [SEP] unheard a\n" * 30, encoding="utf-8")
    store = store_writer.write(tmp_path / "store", Corpus((TextFile(text, "a"),)), words)
    asked = {"objective": "mlm", "input": "document", "chosen": 1.0, "masking": (0.0, 100.0, 0.0)}
    for instance in made(instances(store, **asked), 20):
        assert instance.labels.min() >= FIRST and instance.tokens[instance.positions].min() >= FIRST
        assert set(np.delete(instance.tokens, instance.positions).tolist()) == {UNK, CLS, SEP}
    drawn = made(instances(store, **asked, predict_unknown=True), 20)
    assert {int(label) for instance in drawn for label in instance.labels if label < FIRST} == {UNK}


# What the released code draws in another way


def test_random_tokens_are_uniform_over_all_pieces_on_request(tmp_path: Path) -> None:
    store = numbered(tmp_path, [[4, 6, 3], [5, 7]] * 2)
    maker = instances(store, length=24, chosen=1.0, masking=(0.0, 100.0, 0.0), random_tokens="all")
    replaced = np.concatenate([instance.tokens[instance.positions] for instance in made(maker, 2000)])
    assert stats.chisquare(np.bincount(replaced)).pvalue > LEAST


@pytest.mark.parametrize(("other_documents", "share"), [("length", 1 / 28), ("uniform", 1 / 2)])
def test_other_documents_are_drawn_by_length_or_uniformly(tmp_path: Path, other_documents: str, share: float) -> None:
    """Documents of 30, 400 and 800 tokens have 1, 14 and 27 places; a fourth of a single sentence has none."""
    documents = [[10] * 3, [10], [10] * 40, [10] * 80]
    store, home = numbered(tmp_path, documents), homes(documents)
    maker = instances(store, length=33, short=0.0, other_documents=other_documents)
    pairs = [spans(original(instance)) for instance in made(maker, 2000) if not instance.is_next]
    drawn = Counter((home[first[0]].item(), home[second[0]].item()) for first, second in pairs)
    assert all(first != second and 1 not in (first, second) for first, second in drawn)
    assert stats.binomtest(drawn[2, 0], drawn[2, 0] + drawn[2, 3], share).pvalue > LEAST


# Refusals


def test_pairs_need_two_documents_of_two_sentences(tmp_path: Path) -> None:
    for at, documents in enumerate(([[3, 4, 5]], [[3], [4], [5]], [[3, 4], [5]])):
        store = numbered(tmp_path / str(at), documents)
        with pytest.raises(DataError, match=r"pairs of spans need two documents of two sentences or more.*--input doc"):
            instances(store)
        assert instances(store, objective="mlm", input="document").make(0).is_next == -1
