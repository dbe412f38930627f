"""Batches of fixed shape: which shape a batch gets, and where its filling is."""

import numpy as np
import pytest
import torch

from benchrunner.features.flat_batch import FlatBatch
from benchrunner.features.randomness import Dropout
from benchrunner.training.gradients import NotStatic
from benchrunner_devices.fixed_shapes import borders_with_filling, in_fixed_shape, multiple_of
from flat_batches import batch_of


def filled(tokens: int) -> int:
    return tokens + -tokens % multiple_of(tokens)


def fixed(lengths: tuple[int, ...], longest: int, dropout: Dropout | None = None) -> FlatBatch:
    """Build a batch of fixed shape."""
    return in_fixed_shape(batch_of(lengths, dropout, multiple=multiple_of(sum(lengths))), longest)


def test_few_shapes_hold_batches_of_all_sizes() -> None:
    sizes = [filled(tokens) for tokens in range(1, 5000)]
    for tokens, size in enumerate(sizes, 1):
        assert 0 <= size - tokens <= max(63, tokens / 8)
    assert len(set(sizes)) < 40
    assert {filled(tokens) for tokens in range(1025, 2049)} == set(range(1152, 2049, 128))


@pytest.mark.parametrize("longest", [9, 12, 64, 512])
def test_borders_of_all_batches_of_a_shape_are_as_many(longest: int) -> None:
    random = np.random.default_rng(1)
    counts: dict[tuple[int, int], set[int]] = {}
    for count in random.integers(5, 200, size=300):
        lengths = np.sort(random.integers(1, 10, size=count))
        size = filled(int(lengths.sum()))
        borders = borders_with_filling(np.concatenate([[0], np.cumsum(lengths)]), size, longest)
        assert (np.diff(borders)[:count] == lengths).all() and borders[-1] == size
        assert np.diff(borders)[count:].min() >= 0 and np.diff(borders).max() <= longest
        counts.setdefault((size, int(count)), set()).add(len(borders))
    assert all(len(numbers) == 1 for numbers in counts.values())


def test_a_batch_of_fixed_shape_tells_no_lengths() -> None:
    batch = fixed((1, 3, 6), 6, Dropout(1))
    assert len(batch.tokens) == 64 and batch.starts.tolist() == [0, 1, 4, 10] and batch.longest_border == 6
    assert batch.borders.tolist() == [0, 1, 4, *range(10, 64, 6), 64, 64, 64]
    for name in ("real", "lengths", "owner", "longest"):
        with pytest.raises(NotStatic, match="outside of tensors"):
            getattr(batch, name)


def test_values_are_padded_for_all_sequences_at_once() -> None:
    values = torch.arange(64.0)[:, None] + torch.tensor([0.0, 100.0])
    for batch, longest in ((batch_of((1, 3, 6), multiple=64), 54), (fixed((1, 3, 6), 7), 7)):
        padded = batch.padded(values, -1.0)
        assert padded.shape == (3, longest, 2)
        rows = [row[row >= 0].tolist() for row in padded[:, :, 0]]
        assert rows == [[0.0], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0, 8.0, 9.0]]
        assert torch.equal(padded[:, :, 1] == -1, padded[:, :, 0] == -1)
