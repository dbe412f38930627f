"""What is drawn for instances keeps to its rates; seed and index alone decide an instance; batches hold every one."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies
from instance_samples import FRAME, LEAST, digest, homes, instances, large_store, made, original, pooled, spans
from pretraining_texts import FIRST, MASK, SPECIAL, numbered
from scipy import stats

import forked
from benchrunner.engine import Part
from benchrunner_bert.pretraining.corpus.token_store import TokenStore
from benchrunner_bert.pretraining.instances.batches import pack
from benchrunner_bert.pretraining.instances.instance import Instance, assembled
from benchrunner_bert.pretraining.instances.instances import Instances
from benchrunner_bert.pretraining.instances.places import shuffled


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return large_store(tmp_path_factory.mktemp("large"))


RATES = [(0.8, 0.1, 0.1), (1.0, 0.0, 0.0), (0.8, 0.2, 0.0), (0.8, 0.0, 0.2), (0.0, 0.8, 0.2), (0.0, 1.0, 0.0)]
"""[MASK], random, same: the six rows of Table 8."""


SIZES = pytest.mark.parametrize("count", [3_000, pytest.param(40_000, marks=pytest.mark.slow)])
"""Numbers of instances."""


def check_masking(store: TokenStore, rates: tuple[float, float, float], candidates: int) -> None:
    """Over so many tokens: the share that is chosen, what becomes of them, where they stand, what random ones are."""
    maker = instances(store, masking=tuple(100 * rate for rate in rates), short=0.0, objective="mlm", input="document")
    pieces = store.vocabulary.size - len(SPECIAL)
    places, kinds, others, tokens = np.zeros(128, dtype=np.int64), Counter[str](), list[np.ndarray](), 0
    for index in itertools.count():
        instance = maker.make(index)
        masked_tokens = instance.tokens[instance.positions]
        changed = (masked_tokens != instance.labels) & (masked_tokens != MASK)
        kinds.update(
            mask=int((masked_tokens == MASK).sum()),
            other=int(changed.sum()),
            same=int((masked_tokens == instance.labels).sum()),
        )
        others.append(masked_tokens[changed])
        places += np.bincount(instance.positions, minlength=128)
        tokens += len(instance.tokens) - 2
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
    check_masking(large, rates, 100_000)


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
    maker, again = instances(large), instances(large)
    for index in (7, 3, 7, 10**9):
        assert same(maker.make(index), again.make(index))
    assert not same(maker.make(7), maker.make(8))
    assert not same(maker.make(7), instances(large, seed=4).make(7))
    # In the next epoch a place is met again, with other masks.
    assert not any(same(maker.make(7), maker.make(maker.epoch + offset)) for offset in range(50))


def same(first: Instance, second: Instance) -> bool:
    names = ("tokens", "segments", "positions", "labels")
    return first.is_next == second.is_next and all(
        np.array_equal(getattr(first, name), getattr(second, name)) for name in names
    )


def test_another_process_makes_the_same_in_any_order(large: TokenStore) -> None:
    order = list(range(40))
    script = (
        "import sys; from pathlib import Path; from instance_samples import digest, instances;"
        "from benchrunner_bert.pretraining.corpus.token_store import TokenStore;"
        "print('\\n'.join(digest(instances(TokenStore.open(Path(sys.argv[1]))), list(range(40))[::-1])))"
    )
    done = forked.run(["-c", script, str(large.folder)], cwd=Path(__file__).parent)
    assert done.stdout.split() == digest(instances(large), order), done.stderr


# Epochs


@given(size=strategies.integers(1, 700), key=strategies.integers(0, 2**63))
@settings(max_examples=60, deadline=None)
def test_an_epoch_is_a_permutation(size: int, key: int) -> None:
    assert sorted(shuffled(index, size, key) for index in range(size)) == list(range(size))


def test_permutations_are_unlike_each_other_and_the_corpus_order() -> None:
    order, another = [shuffled(at, 5000, 1) for at in range(5000)], [shuffled(at, 5000, 2) for at in range(5000)]
    for first, second in ((order, another), (order, range(5000)), (order[1:], order[:-1])):
        assert abs(stats.spearmanr(list(first), list(second)).statistic) < 0.06
        assert sum(a == b for a, b in zip(first, second, strict=True)) < 10


def test_an_epoch_begins_in_every_stretch_of_the_corpus_once(tmp_path: Path) -> None:
    documents = [[4] * 100, [7, 3] * 30, [6], [2] * 3, [1] * 62, [1] * 63]
    maker = instances(numbered(tmp_path, documents), objective="mlm", input="document", length=64, short=0.0)
    home = homes(documents)
    begun = Counter(home[spans(original(maker.make(index)))[0][0]] for index in range(maker.epoch))
    assert [begun[document] for document in range(6)] == [7, 5, 1, 1, 1, 2]
    assert maker.epoch == 17


def coverage(maker: Instances, tokens: int, epochs: int) -> np.ndarray:
    """How often an epoch meets each token."""
    seen = np.zeros(tokens)
    for index in range(maker.epoch * epochs):
        for text in spans(original(maker.make(index))):
            seen[text[0] : text[-1] + 1] += 1
    return seen / epochs


def test_single_segments_cover_each_token_about_once_an_epoch(tmp_path: Path) -> None:
    documents = [[4] * 300, [7, 3] * 60, [6], [2] * 3, [5, 1, 9, 12] * 20]
    store = numbered(tmp_path, documents)
    single = coverage(instances(store, objective="mlm", input="document", length=64, short=0.0), store.tokens, 40)
    assert 0.9 < single.mean() < 1.2
    # The first and the last stretch of a document never move and the others do, so beside them it is more or less.
    assert single.min() > 0.25 and single.max() < 2.0
    assert np.quantile(single, 0.15) > 0.8 and np.quantile(single, 0.85) < 1.3
    assert (single[homes(documents) == 2] == 1).all()
    edges = store.sentence_starts[store.document_starts]
    assert (single[edges[:-1]] >= 1).all() and (single[edges[1:] - 1] >= 1).all()


def test_pairs_cover_all_documents_of_two_sentences_or_more(tmp_path: Path) -> None:
    documents = [[4] * 300, [7, 3] * 60, [6], [2] * 3, [5, 1, 9, 12] * 20]
    store = numbered(tmp_path, documents)
    maker = instances(store, length=64, short=0.0)
    pairs = coverage(maker, store.tokens, 40)
    alone = homes(documents) == 2
    assert (pairs[alone] == 0).all()
    assert 0.8 < pairs[~alone].mean() < 1.3
    assert pairs[~alone].min() > 0.2


CPU = torch.device("cpu")


def test_assembling_equals_the_frame(large: TokenStore) -> None:
    first, second = large.read(3, 9), large.read(700, 703)
    parts = [Part(text, np.array([0]), np.array([len(text)])) for text in (first, second)]
    for pair in (parts[:1], parts):
        joined = FRAME.join(*pair).sequences
        tokens, segments = assembled(FRAME, first, second if len(pair) == 2 else None)
        assert tokens.tolist() == joined.tokens.tolist() and segments.tolist() == joined.segments.tolist()
        assert (tokens.dtype, segments.dtype) == (np.int32, np.int8)


def sequences(batch: Any) -> Iterator[dict[str, Any]]:
    """A batch taken apart again."""
    starts = batch.flat.starts.tolist()
    for number, (start, stop) in enumerate(itertools.pairwise(starts)):
        inside = (batch.positions >= start) & (batch.positions < stop)
        yield {
            "tokens": batch.flat.tokens[start:stop].tolist(),
            "segments": batch.flat.segments[start:stop].tolist(),
            "places": batch.flat.positions[start:stop].tolist(),
            "positions": (batch.positions[inside] - start).tolist(),
            "labels": batch.labels[inside].tolist(),
            "is_next": batch.is_next[number].item(),
        }


@pytest.mark.parametrize("objective", ["mlm+nsp", "mlm", "ltr"])
def test_a_batch_holds_every_instance_shortest_first(large: TokenStore, objective: str) -> None:
    chosen = made(instances(large, objective=objective, length=24, short=0.8), 20)
    batch = pack(chosen).on(CPU, multiple=64)
    wanted = [
        {
            "tokens": instance.tokens.tolist(),
            "segments": instance.segments.tolist(),
            "places": list(range(len(instance.tokens))),
            "positions": instance.positions.tolist(),
            "labels": instance.labels.tolist(),
            "is_next": instance.is_next,
        }
        for instance in sorted(chosen, key=lambda instance: len(instance.tokens))
    ]
    assert list(sequences(batch)) == wanted
    assert batch.flat.restore.tolist() == list(range(20))
    assert len(batch.flat.tokens) % 64 == 0 and batch.flat.real == sum(len(instance.tokens) for instance in chosen)
    tensors = batch.positions, batch.labels, batch.is_next, batch.flat.tokens
    assert {tensor.dtype for tensor in tensors} == {torch.int64}
    assert batch.flat.blocks[0].length == len(wanted[0]["tokens"])
