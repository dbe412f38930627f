"""What is drawn for instances keeps to its rates: masks, neighbours, lengths, and where a pair is parted."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from instance_samples import LEAST, instances, large_store, made, original, pooled, spans
from pretraining_texts import FIRST, MASK, SPECIAL
from scipy import stats

from benchrunner_bert.pretraining.corpus.token_store import TokenStore


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return large_store(tmp_path_factory.mktemp("large"))


RATES = [(0.8, 0.1, 0.1), (1.0, 0.0, 0.0), (0.8, 0.2, 0.0), (0.8, 0.0, 0.2), (0.0, 0.8, 0.2), (0.0, 1.0, 0.0)]
"""[MASK], random, same: the six rows of Table 8."""


SIZES = pytest.mark.parametrize("count", [6_000, pytest.param(40_000, marks=pytest.mark.slow)])
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
    check_masking(large, rates, 200_000)


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
