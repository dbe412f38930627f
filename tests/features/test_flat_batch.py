"""The flat batch: the order of its tokens, and how it is split."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from benchrunner.features.arrays import Features
from benchrunner.features.blocks import ranges
from benchrunner.features.flat_batch import collate, micro_batches, rounding
from benchrunner.features.randomness import Dropout

CPU = torch.device("cpu")


def made(units: list[list[list[int]]]) -> Features:
    """Build features of units of sequences of tokens; segments are the tokens modulo 2, targets the units' numbers."""
    sequences = [sequence for unit in units for sequence in unit]
    tokens = np.array([token for sequence in sequences for token in sequence], dtype=np.int32)
    return Features(
        tokens=tokens,
        segments=(tokens % 2).astype(np.int8),
        starts=np.cumsum([0, *map(len, sequences)]),
        groups=np.cumsum([0, *map(len, units)]),
        owner=np.repeat(np.arange(len(units)), [len(unit) for unit in units]),
        targets={"label": np.arange(len(units))},
    )


SEQUENCE = st.lists(st.integers(0, 999), min_size=1, max_size=9)
UNITS = st.lists(st.lists(SEQUENCE, min_size=1, max_size=4), min_size=1, max_size=9)


def test_a_batch_sorts_by_length_and_can_restore_the_unit_order() -> None:
    units = [[[5, 6, 7]], [[8]], [[9, 10, 11]], [[12, 13]]]
    batch = collate(made(units), np.array([2, 1, 0]), CPU)
    assert batch.tokens.tolist() == [8, 9, 10, 11, 5, 6, 7]
    assert batch.segments.tolist() == [0, 1, 0, 1, 1, 0, 1]
    assert batch.positions.tolist() == [0, 0, 1, 2, 0, 1, 2]
    assert batch.starts.tolist() == [0, 1, 4, 7]
    assert batch.restore.tolist() == [1, 0, 2]
    assert batch.targets["label"].tolist() == [2, 1, 0]
    assert [(block.start, block.count, block.length, block.stop) for block in batch.blocks] == [
        (0, 1, 1, 1),
        (1, 2, 3, 7),
    ]
    assert batch.longest == 3
    assert batch.starts.dtype == torch.int32 and batch.tokens.dtype == torch.int64


@given(UNITS, st.randoms(use_true_random=False))
def test_every_token_of_every_chosen_unit_is_in_the_batch_once(units: list[list[list[int]]], chance: object) -> None:
    chosen = [number for number in range(len(units)) if chance.random() < 0.7] or [0]  # type: ignore[attr-defined]
    chance.shuffle(chosen)  # type: ignore[attr-defined]
    batch = collate(made(units), np.array(chosen), CPU)
    borders = batch.starts.tolist()
    sequences = [batch.tokens[a:b].tolist() for a, b in itertools.pairwise(borders)]
    assert [sequences[place] for place in batch.restore] == [sequence for unit in chosen for sequence in units[unit]]
    assert [len(tokens) for tokens in sequences] == sorted(len(tokens) for tokens in sequences)
    assert [length for block in batch.blocks for length in [block.length] * block.count] == [
        len(tokens) for tokens in sequences
    ]
    assert batch.blocks[-1].stop == len(batch.tokens)
    assert batch.positions.tolist() == [place for tokens in sequences for place in range(len(tokens))]


def test_a_batch_drops_nothing_unless_it_is_told_to() -> None:
    features = made([[[1, 2]]])
    assert not collate(features, np.array([0]), CPU).dropping
    assert collate(features, np.array([0]), CPU, dropout=Dropout(1, 0)).dropping


def test_ranges_follow_one_another() -> None:
    assert ranges(np.array([7, 0, 3]), np.array([2, 0, 3])).tolist() == [7, 8, 3, 4, 5]
    assert ranges(np.array([], dtype=np.int64), np.array([], dtype=np.int64)).tolist() == []


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20), st.integers(1, 60))
def test_micro_batches_hold_each_unit_once_within_the_budget(lengths: list[int], budget: int) -> None:
    tokens = np.array(lengths)
    units = np.arange(len(lengths))[::-1]
    parts = micro_batches(units, tokens, budget)
    assert sorted(np.concatenate(parts).tolist()) == sorted(units.tolist())
    assert all(len(part) == 1 or tokens[part].sum() <= budget for part in parts)
    assert all(len(part) for part in parts)


def test_a_batch_that_fits_is_left_as_it_is() -> None:
    (part,) = micro_batches(np.array([2, 0]), np.array([5, 100, 5]), 10)
    assert part.tolist() == [2, 0]


def test_the_tokens_of_a_unit_are_those_of_all_its_sequences() -> None:
    features = made([[[1, 2], [3]], [[4, 5, 6]]])
    assert features.unit_tokens.tolist() == [3, 3]
    assert features.lengths.tolist() == [2, 1, 3]
    assert features.units == 2
    assert features.tokens_in(np.array([1, 0, 1])) == 9


@pytest.mark.parametrize("tokens", [1, 15, 16, 400, 1023, 1024, 2047, 2048, 30_000])
def test_few_tokens_of_a_batch_in_half_precision_are_filling(tokens: int) -> None:
    multiple = rounding("bf16", tokens)
    assert multiple in (16, 32, 64), "products of few shapes are compiled"
    assert -tokens % multiple <= max(15, tokens / 32)
    assert rounding("fp32", tokens) == 1
