"""The BiLSTM over ragged sequences, and the learned sum of layers."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
import torch
from torch import nn

from benchrunner import Recipe
from benchrunner.engine import Dropout, FlatBatch, HeadShape, collate
from benchrunner_kit.testing import TinyEncoder
from benchrunner_methods.frozen_readers import LayerMix
from benchrunner_methods.recurrent_heads import BiLstmHead
from tiny_fits import features

CPU, WIDTH = torch.device("cpu"), 64


def batch_of(units: list[int], *, multiple: int = 1, dropping: bool = False) -> FlatBatch:
    return collate(features(12), np.array(units), CPU, multiple=multiple, dropout=Dropout(1, 2) if dropping else None)


def alone(head: BiLstmHead, states: torch.Tensor) -> torch.Tensor:
    """Run one sequence through torch's own layers, without packing."""
    for layer in head.layers:
        states, _ = layer(states)
    return states


@pytest.mark.parametrize("width", [768, 1536])
def test_the_width_is_that_of_both_directions_together(width: int) -> None:
    """Check the two readings of "a two-layer 768-dimensional BiLSTM" (Devlin et al. 2019, 5.3)."""
    head = BiLstmHead(12, HeadShape("token", 3), seed=1, width=width)
    sizes = [(layer.input_size, layer.hidden_size, layer.bidirectional) for layer in head.layers]
    assert sizes == [(12, width // 2, True), (width, width // 2, True)]
    assert head.output.in_features == width
    assert Recipe().bilstm_width == 768


@pytest.mark.parametrize("multiple", [1, 64])
def test_every_token_reads_its_own_sequence_in_both_directions(multiple: int) -> None:
    batch = batch_of([3, 7, 0, 11], multiple=multiple)
    head = BiLstmHead(5, HeadShape("token", 3), seed=1, width=WIDTH)
    states = torch.randn(len(batch.tokens), 5, generator=torch.Generator().manual_seed(0))
    outputs = head.read(states, batch, rate=0.0)
    assert outputs.shape == (len(batch.tokens), 3)
    for first, last in zip(batch.starts[:-1].tolist(), batch.starts[1:].tolist(), strict=True):
        expected = head.output(alone(head, states[first:last]))
        torch.testing.assert_close(outputs[first:last], expected, rtol=0, atol=1e-5)


def test_a_sequence_is_its_two_ends_in_the_order_of_the_units() -> None:
    units = [5, 2, 9]
    batch, head = batch_of(units), BiLstmHead(12, HeadShape("sequence", 2), seed=1, width=WIDTH)
    encoder, half = TinyEncoder(), WIDTH // 2
    outputs = head(encoder, batch)
    for row, unit in enumerate(units):
        states = alone(head, encoder(batch_of([unit])))
        expected = head.output(torch.cat([states[-1, :half], states[0, half:]]))
        torch.testing.assert_close(outputs[row], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("level", ["token", "sequence"])
def test_half_precision_leaves_outputs_in_full(level: Literal["token", "sequence"]) -> None:
    encoder, batch = TinyEncoder(), batch_of(list(range(12)))
    head = BiLstmHead(12, HeadShape(level, 1), seed=1, width=WIDTH)
    with torch.autocast("cpu", torch.bfloat16):
        outputs = head(encoder, batch)
    assert outputs.dtype == torch.float32 and not torch.equal(outputs, outputs.bfloat16().float())


def test_fresh_weights_depend_only_on_the_seed() -> None:
    torch.manual_seed(5)
    heads = (BiLstmHead(4, HeadShape("token", 2), seed=seed, width=WIDTH) for seed in (1, 1, 2))
    first, same, other = (head.state_dict() for head in heads)
    assert all(torch.equal(weight, same[name]) for name, weight in first.items())
    assert not any(torch.equal(weight, other[name]) for name, weight in first.items() if name != "output.bias")


def test_bilstm_dropout_is_reproducible_and_changes_the_states() -> None:
    batch, head = batch_of([1, 2], dropping=True), BiLstmHead(12, HeadShape("token", 2), seed=1, width=WIDTH)
    states = torch.ones(len(batch.tokens), 12)
    first, same, without = (head.read(states, batch, rate=rate) for rate in (0.5, 0.5, 0.0))
    assert torch.equal(first, same) and not torch.allclose(first, without)


def test_layers_are_mixed_by_a_softmax_and_a_factor() -> None:
    mix, layers = LayerMix(2), [torch.tensor([[2.0]]), torch.tensor([[6.0]])]
    assert mix(layers).item() == 4.0, "equal shares at first"
    nn.init.constant_(mix.factor, 3.0)
    mix.weights.data = torch.tensor([0.0, np.log(3.0)])
    assert mix(layers).item() == pytest.approx(3 * (0.25 * 2 + 0.75 * 6))
    mix(layers).backward()
    assert mix.weights.grad is not None and mix.factor.grad is not None
