"""Dropout of hub models: masks that benchrunner draws in the place of torch's."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny_models import write_model
from torch import nn

from benchrunner.engine import Dropout
from benchrunner_devices.graphs import GraphGenerators
from benchrunner_transformers.model.dropout import DrawnDropout, drawn_from, replace


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
