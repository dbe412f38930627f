"""Dropout of hub models: masks that benchrunner draws in the place of torch's."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny_models import write_model
from torch import nn
from torch.utils.checkpoint import checkpoint

from benchrunner.engine import Dropout
from benchrunner_devices.graphs import GraphGenerators
from benchrunner_transformers.model.dropout import DrawnDropout, drawn_from, replace


def test_a_share_of_the_values_is_dropped() -> None:
    dropped = DrawnDropout(0.25)(torch.ones(400, 500))
    assert sorted(dropped.unique().tolist()) == [0.0, pytest.approx(4 / 3)]
    assert (dropped == 0).float().mean().item() == pytest.approx(0.25, abs=0.005)


def test_nothing_is_dropped_in_evaluation_or_at_rate_0() -> None:
    values = torch.randn(8, 8)
    assert DrawnDropout(0.5).eval()(values) is values
    assert DrawnDropout(0.0)(values) is values


def test_a_layer_computed_again_draws_the_same_mask() -> None:
    layer, values = nn.Sequential(nn.Linear(32, 32), DrawnDropout(0.5)), torch.randn(16, 32, requires_grad=True)
    torch.manual_seed(3)
    layer(values).square().sum().backward()
    gradient, values.grad = values.grad, None
    torch.manual_seed(3)
    checkpoint(layer, values, use_reentrant=False).square().sum().backward()
    assert gradient is not None
    assert torch.equal(gradient, values.grad)


def test_all_dropout_layers_of_a_model_are_replaced(tmp_path: Path) -> None:
    model = write_model("deberta-v2", tmp_path, hidden_dropout_prob=0.3)
    replace(model)
    kinds = {type(module) for module in model.modules() if isinstance(module, nn.Dropout)}
    assert kinds == {DrawnDropout}
    assert {module.p for module in model.modules() if isinstance(module, DrawnDropout)} == {0.1, 0.3}


def test_a_graph_keeps_nothing_that_is_drawn_on_the_cpu() -> None:
    """On a GPU, layers draw from CUDA's generator. Code that leaves out layers at random draws on the CPU."""
    dropout, before = Dropout(1, generators=GraphGenerators().for_a_graph()), torch.get_rng_state()
    with drawn_from(dropout, "layers", torch.device("cpu")):
        pass
    with (
        pytest.raises(RuntimeError, match="would keep the random numbers that 'layers' draws on the CPU"),
        drawn_from(dropout, "layers", torch.device("cpu")),
    ):
        torch.rand(())
    assert torch.equal(torch.get_rng_state(), before)
