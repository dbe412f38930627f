"""What is drawn for instances keeps to its rates; seed and index alone decide an instance; batches hold every one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies
from instance_samples import LEAST, homes, instances, large_store, made, original, pooled, spans
from pretraining_texts import FIRST, MASK, SPECIAL, numbered
from scipy import stats

from benchrunner_bert.pretraining.corpus.token_store import TokenStore
from benchrunner_bert.pretraining.instances.batches import pack
from benchrunner_bert.pretraining.instances.instances import Instances
from benchrunner_bert.pretraining.instances.places import shuffled


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return large_store(tmp_path_factory.mktemp("large"))


RATES = [(0.8, 0.1, 0.1), (1.0, 0.0, 0.0), (0.8, 0.2, 0.0), (0.8, 0.0, 0.2), (0.0, 0.8, 0.2), (0.0, 1.0, 0.0)]
"""[MASK], random, same: the six rows of Table 8."""


SIZES = pytest.mark.parametrize("count", [3_000, pytest.param(40_000, marks=pytest.mark.slow)])
"""Numbers of instances."""


@pytest.mark.parametrize("rates", RATES)
def test_masking_keeps_to_the_rates_of_table_8(large: TokenStore, rates: tuple[float, float, float]) -> None:
    """The share that is chosen, where these tokens stand, what becomes of them, and what random ones are."""
    maker = instances(large, masking=tuple(100 * rate for rate in rates), short=0.0, objective="mlm", input="document")
    drawn, pieces = made(maker, 800), large.vocabulary.size - len(SPECIAL)
    tokens = sum(len(instance.tokens) - 2 for instance in drawn)
    labels = np.concatenate([instance.labels for instance in drawn])
    seen = np.concatenate([instance.tokens[instance.positions] for instance in drawn])
    assert tokens > 90_000 and stats.binomtest(len(labels), tokens, 0.15).pvalue > LEAST
    places = np.bincount(np.concatenate([instance.positions for instance in drawn]), minlength=128)
    assert places[0] == places[127] == 0 and stats.chisquare(places[1:127]).pvalue > LEAST
    masked, same = seen == MASK, seen == labels
    replaced = seen[~masked & ~same]
    mask, random, kept = rates  # a random token is the same one once in a vocabulary
    expected = np.array([mask, random * (1 - 1 / pieces), kept + random / pieces]) * len(labels)
    counts = np.array([masked.sum(), len(replaced), same.sum()])
    assert (counts[expected == 0] == 0).all()
    assert pooled(counts[expected > 0], expected[expected > 0]) > LEAST
    if random:
        assert replaced.min() >= FIRST
        assert stats.chisquare(np.histogram(replaced, 200, (FIRST, FIRST + pieces))[0]).pvalue > LEAST


@SIZES
def test_half_the_pairs_are_neighbours_and_the_rest_are_uniform(large: TokenStore, count: int) -> None:
    """No other document is favoured."""
    drawn = made(instances(large, length=32), count)
    following = sum(instance.is_next for instance in drawn)
    assert stats.binomtest(following, len(drawn), 0.5).pvalue > LEAST
    pairs = [spans(original(instance)) for instance in drawn if not instance.is_next]
    ways = Counter((first[0] // 500, second[0] // 500) for first, second in pairs)
    distances = np.bincount([(there - here) % 40 for (here, there), count in ways.items() for _ in range(count)])
    assert distances[0] == 0
    assert stats.chisquare(distances[1:]).pvalue > LEAST


@SIZES
def test_one_in_ten_aims_at_any_shorter_length_alike(large: TokenStore, count: int) -> None:
    maker = instances(large, objective="mlm", input="document", length=42)
    lengths = Counter(len(instance.tokens) - 2 for instance in made(maker, count))
    expected = np.full(40, 0.1 / 40)
    expected[-1] += 0.9
    assert pooled(np.array([lengths[length] for length in range(1, 41)]), expected * count) > LEAST


@SIZES
def test_a_pair_is_parted_anywhere_between_its_sentences(large: TokenStore, count: int) -> None:
    drawn = made(instances(large, length=43, short=0.0), count)
    firsts = Counter(len(spans(original(instance))[0]) for instance in drawn)
    assert stats.chisquare([firsts[length] for length in range(1, 40)]).pvalue > LEAST
    nexts = Counter(len(spans(original(instance))[0]) for instance in drawn if instance.is_next)
    table = [[nexts[length] for length in range(1, 40)], [firsts[length] - nexts[length] for length in range(1, 40)]]
    assert stats.chi2_contingency(table).pvalue > LEAST, "the length of A must not tell what B is"


def test_an_instance_is_determined_by_its_seed_and_index(large: TokenStore) -> None:
    maker, again, reseeded = instances(large), instances(large), instances(large, seed=4)
    for index in (7, 3, 7, 10**9):
        assert repr(maker.make(index)) == repr(again.make(index))
    # In the next epoch a place is met again, with other masks.
    others = [maker.make(8), reseeded.make(7), *(maker.make(len(maker._places) + offset) for offset in range(50))]
    assert repr(maker.make(7)) not in map(repr, others)


# Epochs


@given(size=strategies.integers(1, 700), key=strategies.integers(0, 2**63))
@settings(max_examples=60, deadline=None)
def test_an_epoch_is_a_permutation(size: int, key: int) -> None:
    assert sorted(shuffled(index, size, key) for index in range(size)) == list(range(size))


def coverage(maker: Instances, tokens: int, epochs: int) -> np.ndarray:
    """How often an epoch meets each token."""
    seen = np.zeros(tokens)
    for index in range(len(maker._places) * epochs):
        for text in spans(original(maker.make(index))):
            seen[text[0] : text[-1] + 1] += 1
    return seen / epochs


def test_tokens_of_endless_sentences_are_read_alike(tmp_path: Path) -> None:
    """Nearly all are, where a sentence is longer than a sequence; a pair takes a random stretch of it."""
    store = numbered(tmp_path, [[2000], [2000]])
    for objective, form in (("mlm+nsp", "pairs"), ("mlm", "document")):
        for length in (32, 128):
            seen = coverage(instances(store, objective=objective, input=form, length=length), store.tokens, 20)
            assert (seen > 0).mean() > (0.97 if form == "pairs" else 0.995), (objective, form, length)
            assert np.quantile(seen, 0.95) < 2.5, "no stretch is read much more often than others"
    short = numbered(tmp_path / "short", [[60, 3], [64]])
    seen = coverage(instances(short, objective="mlm", input="document", length=22, short=0.0), short.tokens, 1)
    assert (seen[[0, 43, 62, 63, 107, 126]] >= 1).all(), "the end of a long last sentence is read"


def test_an_epoch_covers_each_token_about_once(tmp_path: Path) -> None:
    documents = [[4] * 300, [7, 3] * 60, [6], [2] * 3, [5, 1, 9, 12] * 20]
    store, alone = numbered(tmp_path, documents), homes(documents) == 2
    single = coverage(instances(store, objective="mlm", input="document", length=64, short=0.0), store.tokens, 40)
    assert 0.9 < single.mean() < 1.2
    # The first and the last stretch of a document never move and the others do, so beside them it is more or less.
    assert single.min() > 0.25 and single.max() < 2.0
    assert np.quantile(single, 0.15) > 0.8 and np.quantile(single, 0.85) < 1.3
    assert (single[alone] == 1).all()
    edges = store.sentence_starts[store.document_starts]
    assert (single[edges[:-1]] >= 1).all() and (single[edges[1:] - 1] >= 1).all()
    pairs = coverage(instances(store, length=64, short=0.0), store.tokens, 40)
    assert (pairs[alone] == 0).all(), "a document of one sentence has no pair"
    assert 0.8 < pairs[~alone].mean() < 1.3 and pairs[~alone].min() > 0.2


CPU = torch.device("cpu")


@pytest.mark.parametrize("objective", ["mlm+nsp", "mlm", "ltr"])
def test_a_batch_holds_every_instance_shortest_first(large: TokenStore, objective: str) -> None:
    drawn = made(instances(large, objective=objective, length=24, short=0.8), 20)
    batch, chosen = pack(drawn).on(CPU, multiple=64), sorted(drawn, key=lambda instance: len(instance.tokens))
    real, starts = batch.flat.real, batch.flat.starts

    def joined(name: str) -> list[int]:
        return np.concatenate([getattr(each, name) for each in chosen]).tolist()

    lengths = [len(instance.tokens) for instance in chosen]
    assert starts.diff().tolist() == lengths and real == sum(lengths) and len(batch.flat.tokens) % 64 == 0
    assert [batch.flat.tokens[:real].tolist(), batch.flat.segments[:real].tolist()] == [
        joined("tokens"),
        joined("segments"),
    ]
    assert batch.flat.positions[:real].tolist() == [place for length in lengths for place in range(length)]
    inside = starts[:-1].repeat_interleave(torch.tensor([len(each.positions) for each in chosen]))
    assert (batch.positions - inside).tolist() == joined("positions") and batch.labels.tolist() == joined("labels")
    assert batch.is_next.tolist() == [each.is_next for each in chosen]
    assert {tensor.dtype for tensor in (batch.positions, batch.labels, batch.is_next, batch.flat.tokens)} == {
        torch.int64
    }
