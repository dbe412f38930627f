"""Batches hold every instance, shortest first, and each as it is alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from instance_samples import FRAME, instances, large_store, made

from benchrunner.engine import Part
from benchrunner_bert.pretraining.corpus.token_store import TokenStore
from benchrunner_bert.pretraining.instances.batches import collate
from benchrunner_bert.pretraining.instances.instance import assembled

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return large_store(tmp_path_factory.mktemp("large"))


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


@pytest.mark.parametrize("objective", ["mlm+nsp", "mlm", "ltr", "rtl"])
def test_a_batch_holds_every_instance_shortest_first(large: TokenStore, objective: str) -> None:
    chosen = made(instances(large, objective=objective, length=24, short=0.8), 20)
    batch = collate(chosen, CPU, multiple=64)
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
