"""Rows of sequences, as attention on a CPU computes them."""

import numpy as np
import pytest
import torch

from benchrunner_checkpoints.attention.buckets import SHARED_ROW, rows_of
from flat_batches import batch_of

LENGTHS = [[7], [3, 3, 3, 3], [1, 5, 5, 9, 9, 11, 40], [30, 31, 33, 60, 60], [*range(1, 129)]]


@pytest.mark.parametrize("lengths", LENGTHS)
def test_rows_hold_every_token_once_and_in_order(lengths: list[int]) -> None:
    groups = rows_of(batch_of(tuple(lengths)))
    tokens = [token for rows in groups for token in rows.sources.tolist() if token >= 0]
    assert tokens == list(range(sum(lengths)))
    for rows in groups:
        assert rows.sources[rows.places].tolist() == list(range(rows.bucket.start, rows.bucket.stop))
        assert rows.number == 1 or rows.length <= SHARED_ROW
        assert rows.padded == bool((rows.sources < 0).any())


@pytest.mark.parametrize("lengths", LENGTHS)
def test_the_bias_hides_padding_and_other_sequences(lengths: list[int]) -> None:
    owners = np.repeat(np.arange(len(lengths)), lengths)
    for rows in rows_of(batch_of(tuple(lengths))):
        shape = rows.count, rows.length
        owner = np.where(rows.sources < 0, -1, owners[rows.sources]).reshape(shape)
        bias = torch.zeros(()) if rows.bias is None else rows.bias
        seen = (bias.expand(rows.count, 1, rows.length, rows.length)[:, 0] == 0).numpy()
        real = owner >= 0
        assert (seen == (owner[:, :, None] == owner[:, None, :]))[real].all()
