"""Instances are what Devlin et al. 2019 (3.1, A.2) say, checked on corpora in which every token tells its place."""

from __future__ import annotations

import hashlib
import itertools
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from pretraining_texts import CLS, FIRST, MASK, SEP, SPECIAL, UNK, Documents, numbered, vocabulary
from scipy import stats

from benchrunner.errors import DataError, RequestError, UnknownName
from benchrunner.pieces import Frame, Part
from benchrunner_bert.pretraining import shards
from benchrunner_bert.pretraining.anchors import shuffled
from benchrunner_bert.pretraining.batches import collate
from benchrunner_bert.pretraining.corpus import Corpus, TextFile
from benchrunner_bert.pretraining.instances import Instance, Instances, InstanceSettings, assembled
from benchrunner_bert.pretraining.store import TokenStore

FRAME = Frame(before=(CLS,), between=(SEP,), after=(SEP,), unknown=UNK)
CPU = torch.device("cpu")
LEAST = 1e-4
"""The seeds are fixed: a smaller p would be a fault, not bad luck."""


def instances(store: TokenStore, *, seed: int = 3, **changes: Any) -> Instances:
    return Instances(store, FRAME, store.vocabulary, InstanceSettings(**changes), seed)


def made(maker: Instances, count: int) -> list[Instance]:
    return [maker.make(index) for index in range(count)]


def original(instance: Instance) -> np.ndarray:
    """The tokens as they were before any was replaced."""
    tokens = instance.tokens.copy()
    tokens[instance.positions] = instance.labels
    return tokens


def spans(tokens: np.ndarray) -> list[list[int]]:
    """The places in the corpus of each span's tokens."""
    assert tokens[0] == CLS and tokens[-1] == SEP
    ends = np.flatnonzero(tokens == SEP)
    return [(tokens[start + 1 : end] - FIRST).tolist() for start, end in itertools.pairwise([0, *ends])]


def homes(documents: Documents) -> np.ndarray:
    """The document of each token."""
    return np.repeat(np.arange(len(documents)), [sum(one) for one in documents])


DOCUMENTS = some.lists(some.lists(some.integers(1, 9), min_size=1, max_size=7), min_size=2, max_size=6).filter(
    lambda documents: sum(len(one) > 1 for one in documents) > 1
)


@given(
    documents=DOCUMENTS,
    objective=some.sampled_from(["mlm+nsp", "mlm", "ltr"]),
    length=some.integers(5, 40),
    short=some.sampled_from([0.0, 0.1, 1.0]),
    seed=some.integers(0, 2**40),
)
@settings(max_examples=40, deadline=None)
def test_every_instance_is_what_it_says(
    tmp_path_factory: pytest.TempPathFactory,
    documents: Documents,
    objective: str,
    length: int,
    short: float,
    seed: int,
) -> None:
    """Spans are unbroken runs inside one document, sizes fit, labels are what stood there, no special is chosen."""
    store = numbered(tmp_path_factory.mktemp("corpus"), documents, shard_tokens=11)
    home = homes(documents)
    maker = instances(store, objective=objective, length=length, short=short, seed=seed)
    for index in itertools.chain(range(12), (10**6, 10**12)):
        one = maker.make(index)
        assert (one.tokens.dtype, one.segments.dtype, one.labels.dtype) == (np.int32, np.int8, np.int32)
        assert one.positions.dtype == np.int64
        assert len(one.tokens) == len(one.segments) <= length
        if objective == "ltr":
            assert one.positions.tolist() == list(range(len(one.tokens) - 1))
            assert one.labels.tolist() == one.tokens[1:].tolist()
            texts = spans(one.tokens)
        else:
            assert 1 <= len(one.positions) == len(set(one.positions.tolist()))
            assert one.labels.min() >= FIRST and sorted(one.positions) == one.positions.tolist()
            texts = spans(original(one))
        for text in texts:
            assert text == list(range(text[0], text[-1] + 1))
            assert home[text[0]] == home[text[-1]]
        assert one.segments.tolist() == [0] * (len(texts[0]) + 2) + [1] * sum(len(text) + 1 for text in texts[1:])
        assert len(texts) == (2 if objective == "mlm+nsp" else 1)
        check_order(one, texts, home, whole=len(one.tokens) < length)


def check_order(one: Instance, texts: list[list[int]], home: np.ndarray, *, whole: bool) -> None:
    """What `is_next` says is so; `whole` spans, of which nothing was cut, follow each other directly."""
    if len(texts) == 1:
        assert one.is_next == -1
    elif one.is_next:
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
    for one in made(instances(store, length=64, short=0.5), 400):
        if len(one.tokens) == 64:
            continue
        (begin, *_, middle), (second, *_, end) = (text * 2 for text in spans(original(one)))
        assert {begin, middle + 1, second, end + 1} <= borders
        # A true second span is never the beginning of a document, so a random one must not be either.
        assert second not in firsts
        seen[one.is_next] += 1
    assert min(seen[0], seen[1]) > 50


# Truncation


def reference(first: int, second: int, room: int) -> tuple[int, int]:
    """The released code's loop over one token at a time, without its coin."""
    while first + second > room:
        if first > second:
            first -= 1
        else:
            second -= 1
    return first, second


@pytest.mark.parametrize(("first", "second"), [(40, 40), (41, 40), (40, 41), (60, 15), (15, 60), (90, 1), (1, 90)])
@pytest.mark.parametrize("length", [5, 6, 20, 39, 40, 64])
def test_the_longer_span_loses_tokens_as_in_the_released_code(
    tmp_path: Path, first: int, second: int, length: int
) -> None:
    store = numbered(tmp_path, [[first, second]] * 2)
    for one in made(instances(store, length=length, short=0.0), 20):
        found = tuple(map(len, spans(original(one))))
        assert found == reference(first, second, length - 3)


def test_tokens_are_lost_from_front_or_back_by_a_coin_toss(tmp_path: Path) -> None:
    store = numbered(tmp_path, [[50, 50]] * 2)
    maker = instances(store, length=43, short=0.0)
    fronts = [text[0] % 50 for index in range(1500) for text in spans(original(maker.make(index)))]
    expected = stats.binom.pmf(np.arange(31), 30, 0.5) * len(fronts)
    seen = np.bincount(fronts, minlength=31)
    assert len(seen) == 31
    assert pooled(seen, expected) > LEAST


def pooled(seen: np.ndarray, expected: np.ndarray) -> float:
    """The p of a chi-square test, cells that expect less than five taken together."""
    small = expected < 5
    if small.any():
        seen = np.append(seen[~small], seen[small].sum())
        expected = np.append(expected[~small], expected[small].sum())
    return float(stats.chisquare(seen, expected).pvalue) if len(seen) > 1 else float((seen == expected).all())


# Statistics


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    """Forty documents of 500 sentences of a token each: what is aimed at is what comes out."""
    return numbered(tmp_path_factory.mktemp("large"), [[1] * 500] * 40)


RATES = [(0.8, 0.1, 0.1), (1.0, 0.0, 0.0), (0.8, 0.2, 0.0), (0.8, 0.0, 0.2), (0.0, 0.8, 0.2), (0.0, 1.0, 0.0)]
"""[MASK], random, same: the six rows of Table 8."""


def check_masking(store: TokenStore, rates: tuple[float, float, float], candidates: int) -> None:
    """Over so many tokens: the share that is chosen, what becomes of them, where they stand, what random ones are."""
    maker = instances(store, masking=rates, short=0.0, objective="mlm")
    pieces = store.vocabulary.size - len(SPECIAL)
    places, kinds, others, tokens = np.zeros(128, dtype=np.int64), Counter[str](), list[np.ndarray](), 0
    for index in itertools.count():
        one = maker.make(index)
        found = one.tokens[one.positions]
        changed = (found != one.labels) & (found != MASK)
        kinds.update(mask=int((found == MASK).sum()), other=int(changed.sum()), same=int((found == one.labels).sum()))
        others.append(found[changed])
        places += np.bincount(one.positions, minlength=128)
        tokens += len(one.tokens) - 2
        if tokens >= candidates:
            break
    chosen = int(places.sum())
    assert abs(chosen / tokens - 0.15) < 4 * np.sqrt(0.15 * 0.85 / tokens)
    assert places[0] == places[127] == 0
    assert stats.chisquare(places[1:127]).pvalue > LEAST
    masked, drawn, kept = rates  # a drawn token is the same one once in a vocabulary
    expected = np.array([masked, drawn * (1 - 1 / pieces), kept + drawn / pieces]) * chosen
    seen = np.array([kinds["mask"], kinds["other"], kinds["same"]])
    assert (seen[expected == 0] == 0).all()
    assert pooled(seen[expected > 0], expected[expected > 0]) > LEAST
    replaced = np.concatenate(others)
    assert not len(replaced) or replaced.min() >= FIRST
    if len(replaced) > 5 * 200:
        assert stats.chisquare(np.histogram(replaced, 200, (FIRST, FIRST + pieces))[0]).pvalue > LEAST


@pytest.mark.parametrize("rates", RATES)
def test_masking_keeps_to_the_rates_of_table_8(large: TokenStore, rates: tuple[float, float, float]) -> None:
    check_masking(large, rates, 200_000)


def test_masking_keeps_to_the_rates_over_a_million_tokens(large: TokenStore) -> None:
    check_masking(large, (0.8, 0.1, 0.1), 1_000_000)


@pytest.mark.slow
def test_masking_keeps_to_the_rates_over_a_million_chosen_tokens(large: TokenStore) -> None:
    check_masking(large, (0.8, 0.1, 0.1), 6_700_000)


def test_half_of_the_pairs_are_neighbours_and_no_random_document_is_favoured(large: TokenStore) -> None:
    found = made(instances(large, length=32), 20_000)
    following = sum(one.is_next for one in found)
    assert stats.binomtest(following, len(found), 0.5).pvalue > LEAST
    pairs = [spans(original(one)) for one in found if not one.is_next]
    ways = Counter((first[0] // 500, second[0] // 500) for first, second in pairs)
    distances = np.bincount([(there - here) % 40 for (here, there), count in ways.items() for _ in range(count)])
    assert distances[0] == 0
    assert stats.chisquare(distances[1:]).pvalue > LEAST


def test_one_in_ten_aims_at_any_shorter_length_alike(large: TokenStore) -> None:
    lengths = Counter(len(one.tokens) - 2 for one in made(instances(large, objective="mlm", length=42), 20_000))
    expected = np.full(40, 0.1 / 40)
    expected[-1] += 0.9
    assert pooled(np.array([lengths[one] for one in range(1, 41)]), expected * 20_000) > LEAST


def test_a_pair_is_parted_between_any_two_of_its_sentences_alike(large: TokenStore) -> None:
    found = made(instances(large, length=43, short=0.0), 8_000)
    firsts = Counter(len(spans(original(one))[0]) for one in found)
    assert stats.chisquare([firsts[one] for one in range(1, 40)]).pvalue > LEAST
    nexts = Counter(len(spans(original(one))[0]) for one in found if one.is_next)
    table = [[nexts[one] for one in range(1, 40)], [firsts[one] - nexts[one] for one in range(1, 40)]]
    assert stats.chi2_contingency(table).pvalue > LEAST, "the length of A must not tell what B is"


# What is chosen


def test_at_least_one_token_is_chosen_and_at_most_as_many_as_allowed(large: TokenStore) -> None:
    assert {len(one.positions) for one in made(instances(large, chosen=0.0), 50)} == {1}
    assert {len(one.positions) for one in made(instances(large, short=0.0, max_predictions=7), 50)} == {7}
    assert {len(one.positions) for one in made(instances(large, short=0.0, chosen=1.0), 20)} == {125}


def test_special_tokens_of_the_text_are_never_chosen(tmp_path: Path) -> None:
    """An unknown word is [UNK]; a text that spells [MASK] holds the word mask."""
    words = vocabulary(tmp_path / "vocab.txt", "a", "mask", "sep")
    text = tmp_path / "a.txt"
    text.write_text("a strange [MASK] a [SEP] unheard a\n" * 30, encoding="utf-8")
    store = shards.write(tmp_path / "store", Corpus((TextFile(text, "a"),)), words)
    for one in made(instances(store, objective="mlm", chosen=1.0, masking=(0.0, 1.0, 0.0)), 20):
        assert one.labels.min() >= FIRST and one.tokens[one.positions].min() >= FIRST
        assert set(np.delete(one.tokens, one.positions).tolist()) == {UNK, CLS, SEP}


def test_the_same_seed_and_index_give_the_same_instance_and_others_another(large: TokenStore) -> None:
    maker, again = instances(large), instances(large)
    for index in (7, 3, 7, 10**9):
        assert same(maker.make(index), again.make(index))
    assert not same(maker.make(7), maker.make(8))
    assert not same(maker.make(7), instances(large, seed=4).make(7))
    # In the next epoch a place is met again, with other masks.
    assert not any(same(maker.make(7), maker.make(maker.epoch + other)) for other in range(50))


def same(one: Instance, other: Instance) -> bool:
    names = ("tokens", "segments", "positions", "labels")
    return one.is_next == other.is_next and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in names
    )


def digest(maker: Instances, order: list[int]) -> list[str]:
    """Of each instance, made in this order, told in the order of the indices."""
    found = {index: maker.make(index) for index in order}
    return [hashlib.sha256(repr(found[index]).encode()).hexdigest() for index in sorted(order)]


def test_another_process_makes_the_same_in_any_order(large: TokenStore) -> None:
    order = list(range(40))
    script = (
        "import sys; from pathlib import Path; from test_pretraining_instances import digest, instances;"
        "from benchrunner_bert.pretraining.store import TokenStore;"
        "print('\\n'.join(digest(instances(TokenStore.open(Path(sys.argv[1]))), list(range(40))[::-1])))"
    )
    command = [sys.executable, "-c", script, str(large.folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent, timeout=120, check=False)
    assert done.stdout.split() == digest(instances(large), order), done.stderr


def test_the_size_of_shards_changes_no_instance(tmp_path: Path) -> None:
    documents = [[5, 9, 3] * 6, [30, 4], [2] * 20]
    one = instances(numbered(tmp_path / "one", documents), length=24)
    many = instances(numbered(tmp_path / "many", documents, shard_tokens=3), length=24)
    assert all(same(one.make(index), many.make(index)) for index in range(200))


# Epochs


@given(size=some.integers(1, 700), key=some.integers(0, 2**63))
@settings(max_examples=60, deadline=None)
def test_an_epoch_is_a_permutation(size: int, key: int) -> None:
    assert sorted(shuffled(index, size, key) for index in range(size)) == list(range(size))


def test_permutations_are_unlike_each_other_and_unlike_the_corpus() -> None:
    one, other = ([shuffled(index, 5000, key) for index in range(5000)] for key in (1, 2))
    for first, second in ((one, other), (one, range(5000)), (one[1:], one[:-1])):
        assert abs(stats.spearmanr(list(first), list(second)).statistic) < 0.06
        assert sum(a == b for a, b in zip(first, second, strict=True)) < 10


def test_an_epoch_begins_in_every_stretch_of_the_corpus_once(tmp_path: Path) -> None:
    documents = [[4] * 100, [7, 3] * 30, [6], [2] * 3, [1] * 62, [1] * 63]
    maker = instances(numbered(tmp_path, documents), objective="mlm", length=64, short=0.0)
    home = homes(documents)
    begun = Counter(home[spans(original(maker.make(index)))[0][0]] for index in range(maker.epoch))
    assert [begun[one] for one in range(6)] == [7, 5, 1, 1, 1, 2]
    assert maker.epoch == 17


def coverage(maker: Instances, tokens: int, epochs: int) -> np.ndarray:
    """How often an epoch meets each token."""
    seen = np.zeros(tokens)
    for index in range(maker.epoch * epochs):
        for text in spans(original(maker.make(index))):
            seen[text[0] : text[-1] + 1] += 1
    return seen / epochs


def test_every_token_is_met_about_once_an_epoch_at_the_edges_of_documents_too(tmp_path: Path) -> None:
    documents = [[4] * 300, [7, 3] * 60, [6], [2] * 3, [5, 1, 9, 12] * 20]
    store = numbered(tmp_path, documents)
    single = coverage(instances(store, objective="mlm", length=64, short=0.0), store.tokens, 40)
    assert 0.9 < single.mean() < 1.2
    # The first and the last stretch of a document never move and the others do, so beside them it is more or less.
    assert single.min() > 0.25 and single.max() < 2.0
    assert np.quantile(single, 0.15) > 0.8 and np.quantile(single, 0.85) < 1.3
    assert (single[homes(documents) == 2] == 1).all()
    edges = store.sentence_starts[store.document_starts]
    assert (single[edges[:-1]] >= 1).all() and (single[edges[1:] - 1] >= 1).all()


def test_pairs_meet_every_token_of_documents_in_which_something_follows(tmp_path: Path) -> None:
    documents = [[4] * 300, [7, 3] * 60, [6], [2] * 3, [5, 1, 9, 12] * 20]
    store = numbered(tmp_path, documents)
    maker = instances(store, length=64, short=0.0)
    pairs = coverage(maker, store.tokens, 40)
    alone = homes(documents) == 2
    assert maker.left_out == 1 and (pairs[alone] == 0).all()
    assert 0.8 < pairs[~alone].mean() < 1.3
    assert pairs[~alone].min() > 0.2


# Refusals


def test_next_sentences_need_two_documents_in_which_something_follows(tmp_path: Path) -> None:
    for at, documents in enumerate(([[3, 4, 5]], [[3], [4], [5]], [[3, 4], [5]])):
        store = numbered(tmp_path / str(at), documents)
        with pytest.raises(DataError, match="next sentences need two documents of two sentences or more"):
            instances(store)
        assert instances(store, objective="mlm").make(0).is_next == -1
    one = numbered(tmp_path / "one", [[3, 4, 5]])
    with pytest.raises(DataError, match="the corpus holds a single document"):
        instances(one)


def test_settings_that_make_no_sense_are_refused() -> None:
    for changes in (
        {"length": 4},
        {"chosen": 1.5},
        {"short": -0.1},
        {"masking": (0.8, 0.1, 0.2)},
        {"masking": (1.2, -0.1, -0.1)},
        {"max_predictions": 0},
    ):
        with pytest.raises(RequestError):
            InstanceSettings(**changes)
    with pytest.raises(UnknownName, match="no objective 'nsp'"):
        InstanceSettings(objective="nsp")


# Batches


def test_assembling_equals_the_frame(large: TokenStore) -> None:
    first, second = large.read(3, 9), large.read(700, 703)
    parts = [Part(text, np.array([0]), np.array([len(text)])) for text in (first, second)]
    for pair in (parts[:1], parts):
        joined = FRAME.join(*pair).sequences
        tokens, segments = assembled(FRAME, first, second if len(pair) == 2 else None)
        assert tokens.tolist() == joined.tokens.tolist() and segments.tolist() == joined.segments.tolist()
        assert (tokens.dtype, segments.dtype) == (np.int32, np.int8)


def sequences(found: Any) -> Iterator[dict[str, Any]]:
    """A batch taken apart again."""
    starts = found.flat.starts.tolist()
    for number, (start, stop) in enumerate(itertools.pairwise(starts)):
        inside = (found.positions >= start) & (found.positions < stop)
        yield {
            "tokens": found.flat.tokens[start:stop].tolist(),
            "segments": found.flat.segments[start:stop].tolist(),
            "places": found.flat.positions[start:stop].tolist(),
            "positions": (found.positions[inside] - start).tolist(),
            "labels": found.labels[inside].tolist(),
            "is_next": found.is_next[number].item(),
        }


@pytest.mark.parametrize("objective", ["mlm+nsp", "mlm", "ltr"])
def test_a_batch_holds_every_instance_shortest_first(large: TokenStore, objective: str) -> None:
    chosen = made(instances(large, objective=objective, length=24, short=0.8), 20)
    found = collate(chosen, CPU, multiple=64)
    wanted = [
        {
            "tokens": one.tokens.tolist(),
            "segments": one.segments.tolist(),
            "places": list(range(len(one.tokens))),
            "positions": one.positions.tolist(),
            "labels": one.labels.tolist(),
            "is_next": one.is_next,
        }
        for one in sorted(chosen, key=lambda one: len(one.tokens))
    ]
    assert list(sequences(found)) == wanted
    assert found.flat.restore.tolist() == list(range(20))
    assert len(found.flat.tokens) % 64 == 0 and found.flat.real == sum(len(one.tokens) for one in chosen)
    assert {one.dtype for one in (found.positions, found.labels, found.is_next, found.flat.tokens)} == {torch.int64}
    assert found.flat.runs[0].length == len(wanted[0]["tokens"])
