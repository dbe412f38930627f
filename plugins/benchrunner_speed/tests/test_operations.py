"""Operations from shapes are those that torch counts, and parameters are those that the encoder has."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from benchrunner import Workspace
from benchrunner.engine import Encoder, Features, FlatBatch, collate
from benchrunner.results import Runner, discover
from benchrunner_kit.testing import TinyEncoder
from benchrunner_speed.bench import TEXT, Bench
from benchrunner_speed.operations import Operations


def encoder(name: str) -> Encoder:
    if name == "tiny":
        return TinyEncoder()
    workspace = Workspace(Path("runs"), Path("cache"))
    return Runner(discover(), workspace).planner.backbone(name).load(workspace, seed=0)


def batch(model: Encoder, sequences: int, length: int) -> FlatBatch:
    features = Features.of(model.assemble([TEXT * 2] * sequences, None, length))
    return collate(features, torch.arange(sequences).numpy(), torch.device("cpu"))


NAMES = ("tiny", "bert/random-tiny", "bert/random-4/128")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("sequences", "length"), [(1, 60), (3, 24)])
def test_forward_operations_are_those_of_the_counter(name: str, sequences: int, length: int) -> None:
    model = encoder(name).eval()
    ours = Bench(model, "cpu", "fp32").facts().operations.forward(sequences, length)
    with FlopCounterMode(display=False) as counter, torch.inference_mode(), sdpa_kernel(SDPBackend.MATH):
        model(batch(model, sequences, length))
    assert ours == pytest.approx(counter.get_total_flops(), rel=0.02)


@pytest.mark.parametrize("name", NAMES[1:])
def test_training_operations_are_those_of_the_counter(name: str) -> None:
    model = encoder(name)
    model.set_dropout(0.0)
    facts = Bench(model, "cpu", "fp32").facts()
    ours = facts.operations.of_fit(4 * 48, 4 * 48**2, facts.matrix_weights, 0)
    states = batch(model, 4, 48)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model(states).sum().backward()
    assert ours == pytest.approx(counter.get_total_flops(), rel=0.05)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_the_numbers_of_the_state(name: str) -> None:
    model = encoder(name)
    state = {tensor.data_ptr(): tensor.numel() for tensor in model.state_dict().values()}
    assert Bench(model, "cpu", "fp32").facts().parameters == sum(state.values())


def test_operations_of_bert_are_those_of_its_formula() -> None:
    """`bert/random-4/128` has 4 layers of 128 with an inner size of 512."""
    operations = Bench(encoder("bert/random-4/128"), "cpu", "fp32").facts().operations
    assert operations == Operations(4 * 2 * (4 * 128**2 + 2 * 128 * 512), 4 * 4 * 128, 0)


def test_a_frozen_weight_needs_two_products_of_three() -> None:
    operations = Operations(per_token=10, per_pair=1)
    assert operations.forward(2, 3) == 10 * 6 + 18
    assert operations.of_fit(6, 18, 100, 0) == 3 * 78
    assert operations.of_fit(6, 18, 0, 100) == 2 * 78
