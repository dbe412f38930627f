"""Batches of fixed shape: which shape a batch gets, and where its filling is."""

import numpy as np
import pytest
import torch

from benchrunner.features.flat_batch import NotStatic, StaticShape
from benchrunner.features.randomness import Dropout
from flat_batches import batch_of


def test_few_shapes_hold_batches_of_all_sizes() -> None:
    shapes = [StaticShape.of(tokens, 32, 128) for tokens in range(1, 5000)]
    for tokens, shape in enumerate(shapes, 1):
        assert 0 <= shape.tokens - tokens <= max(63, tokens / 8)
    assert len(set(shapes)) < 40
    assert {StaticShape.of(tokens, 32, 128).tokens for tokens in range(1025, 2049)} == set(range(1152, 2049, 128))


@pytest.mark.parametrize("longest", [9, 12, 64, 512])
def test_borders_of_all_batches_of_a_shape_are_as_many(longest: int) -> None:
    random = np.random.default_rng(1)
    counts: dict[StaticShape, set[int]] = {}
    for count in random.integers(5, 200, size=300):
        lengths = np.sort(random.integers(1, 10, size=count))
        shape = StaticShape.of(int(lengths.sum()), int(count), longest)
        borders = shape.borders_of(np.concatenate([[0], np.cumsum(lengths)]))
        assert (np.diff(borders)[:count] == lengths).all() and borders[-1] == shape.tokens
        assert np.diff(borders)[count:].min() >= 0 and np.diff(borders).max() <= longest
        counts.setdefault(shape, set()).add(len(borders))
    assert all(len(numbers) == 1 for numbers in counts.values())


def test_a_batch_of_fixed_shape_tells_no_lengths() -> None:
    shape = StaticShape.of(10, 3, 6)
    batch = batch_of((1, 3, 6), Dropout(1), shape=shape)
    assert len(batch.tokens) == 64 and batch.starts.tolist() == [0, 1, 4, 10] and batch.longest_border == 6
    assert batch.borders.tolist() == [0, 1, 4, *range(10, 64, 6), 64, 64, 64]
    for name in ("real", "lengths", "owner", "longest", "attention_buckets"):
        with pytest.raises(NotStatic, match="outside of tensors"):
            getattr(batch, name)


def test_values_are_padded_for_all_sequences_at_once() -> None:
    values = torch.arange(64.0)[:, None] + torch.tensor([0.0, 100.0])
    for shape in (None, StaticShape.of(10, 3, 7)):
        batch = batch_of((1, 3, 6), multiple=64 if shape is None else 1, shape=shape)
        padded = batch.padded(values, -1.0)
        assert padded.shape == (3, 54 if shape is None else 7, 2)
        rows = [row[row >= 0].tolist() for row in padded[:, :, 0]]
        assert rows == [[0.0], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0, 8.0, 9.0]]
        assert torch.equal(padded[:, :, 1] == -1, padded[:, :, 0] == -1)
