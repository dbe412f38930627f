"""The method `dora` against its formula and against the library peft."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from test_lora import Conv1D, outputs
from torch import nn

from benchrunner.engine import StackedLinear
from benchrunner.methods.finetune import freeze
from benchrunner_kit.testing import TinyEncoder, check_method
from benchrunner_methods.decomposed import Decomposed, DecomposedUpdates
from benchrunner_methods.lora import dora

RANK, ALPHA = 2, 6.0


def part_of(layer: nn.Module, seed: int = 0) -> Decomposed:
    """Make the update of a layer, in float64 and changed at random, as after training."""
    source = torch.Generator().manual_seed(seed)
    part = Decomposed(layer.double(), rank=RANK, alpha=ALPHA, source=source).double()
    for weight in part.parameters():
        weight.data += torch.empty(weight.shape, dtype=weight.dtype).normal_(std=0.3, generator=source)
    return part


def test_an_untrained_update_changes_nothing() -> None:
    encoder = TinyEncoder(dropout=0.0)
    before = [part.detach() for part in outputs(encoder)]
    freeze(encoder, (), "dora")
    updates = DecomposedUpdates(encoder, rank=RANK, alpha=ALPHA, seed=0)
    torch.testing.assert_close([part.detach() for part in outputs(encoder)], before)
    assert all(part.requires_grad for part in updates.parameters())
    assert not any(weight.requires_grad for weight in encoder.parameters())


def test_the_merged_encoder_computes_the_same() -> None:
    encoder = TinyEncoder(dropout=0.0)
    names = set(encoder.state_dict())
    freeze(encoder, (), "dora")
    updates = DecomposedUpdates(encoder, rank=RANK, alpha=ALPHA, seed=0)
    for weight in updates.parameters():
        weight.data += torch.empty(weight.shape).normal_(std=0.3, generator=torch.Generator().manual_seed(1))
    trained = [part.detach() for part in outputs(encoder)]
    assert not torch.allclose(trained[0], outputs(TinyEncoder(dropout=0.0))[0])
    updates.merge()
    assert set(encoder.state_dict()) == names
    torch.testing.assert_close([part.detach() for part in outputs(encoder)], trained)


def test_stacked_matrices_are_updated_as_layers_of_their_own() -> None:
    stacked = StackedLinear(5, 4, count=3).double()
    whole = part_of(stacked)
    parts = []
    for number, weight in enumerate(stacked.weight.detach().split(4)):
        single = nn.Linear(5, 4).double()
        single.weight.data.copy_(weight)
        part = part_of(single)
        part.update.a.data.copy_(whole.update.a.data[number * RANK : (number + 1) * RANK])
        part.update.b.data.copy_(whole.update.b.data[number * 4 : (number + 1) * 4])
        part.magnitude.data.copy_(whole.magnitude.data[number * 4 : (number + 1) * 4])
        parts.append(part(single.weight))
    torch.testing.assert_close(whole(stacked.weight), torch.cat(parts))


def test_a_layer_with_a_transposed_weight_is_updated_alike() -> None:
    linear = nn.Linear(5, 4).double()
    straight, transposed = part_of(linear), part_of(Conv1D(linear))
    transposed.update.load_state_dict(straight.update.state_dict())
    transposed.magnitude.data.copy_(straight.magnitude.data)
    torch.testing.assert_close(transposed(linear.weight.T).T, straight(linear.weight))


def test_weights_of_zero_stay_finite() -> None:
    linear = nn.Linear(5, 4)
    nn.init.zeros_(linear.weight)
    part = Decomposed(linear, rank=RANK, alpha=ALPHA, source=torch.Generator())
    part(linear.weight).sum().backward()
    assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in part.parameters())


def test_outputs_and_gradients_are_those_of_peft() -> None:
    peft = pytest.importorskip("peft")
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(7, 5)).double()
    part, own = part_of(net[0]), nn.Linear(7, 5).double()
    own.load_state_dict(net[0].state_dict())
    config = peft.LoraConfig(r=RANK, lora_alpha=ALPHA, use_dora=True, target_modules=["0"], lora_dropout=0.0)
    layer = peft.get_peft_model(net, config).double().base_model.model[0]
    theirs = [
        layer.lora_A["default"].weight,
        layer.lora_B["default"].weight,
        layer.lora_magnitude_vector["default"].weight,
    ]
    ours = [part.update.a, part.update.b, part.magnitude]
    for their, our in zip(theirs, ours, strict=True):
        their.data.copy_(our.data.view(their.shape))
    states, wanted = torch.randn(3, 7).double(), torch.randn(3, 5).double()
    output = nn.functional.linear(states, part(own.weight), own.bias)
    torch.testing.assert_close(output, layer(states), rtol=1e-12, atol=1e-12)
    (output * wanted).sum().backward()
    (layer(states) * wanted).sum().backward()
    for their, our in zip(theirs, ours, strict=True):
        torch.testing.assert_close(our.grad.view(their.shape), their.grad, rtol=1e-10, atol=1e-10)


def test_layers_that_share_a_weight_share_its_update() -> None:
    encoder = TinyEncoder(dropout=0.0)
    encoder.second = nn.Linear(12, 12)
    encoder.second.weight = encoder.dense.weight
    freeze(encoder, (), "dora")
    updates = DecomposedUpdates(encoder, rank=RANK, alpha=ALPHA, seed=0)
    assert len(updates.parts) == 2
    for weight in updates.parameters():
        nn.init.normal_(weight)
    updates.merge()
    torch.testing.assert_close(encoder.second.weight, encoder.dense.weight)


def test_the_method_keeps_its_contract(tmp_path: Path) -> None:
    check_method(dora(), tmp_path)
