"""Floating-point operations of a training step, and the share of a device's peak that training uses."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from objective_samples import SHAPES, batch, forward_and_backward, model
from torch.utils.flop_counter import FlopCounterMode

from benchrunner.engine import Dropout
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.pretraining.objectives import named
from benchrunner_bert.pretraining.training import flops
from benchrunner_bert.pretraining.training.flops import measured_peak, step_flops


@pytest.fixture(autouse=True)
def _no_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let attention compute every length by itself: the estimate counts no padding of its rows."""
    monkeypatch.setattr("benchrunner.features.attention_rows.COSTS", (0, 0))
    monkeypatch.setattr("benchrunner.features.attention_rows.SHARED_ROW", 0)


@pytest.mark.parametrize("shape", [*SHAPES, {"layers": 4}], ids=["plain", "odd", "deeper"])
@pytest.mark.parametrize("objective", ["mlm+nsp", "mlm"])
def test_operations_are_those_that_torch_counts(objective: str, shape: dict[str, int]) -> None:
    whole = model(objective, **shape)
    whole.bert.set_dropout(0.1)
    given = batch(whole, dropout=Dropout(1, 2, 3))
    with FlopCounterMode(display=False) as counter:
        forward_and_backward(whole, given)
    lengths = given.flat.starts.diff().numpy()
    wanted = step_flops(whole.bert.config, lengths, len(given.labels), next_sentence=whole.objective.next_sentence)
    assert counter.get_total_flops() == wanted


@pytest.mark.parametrize("objective", ["ltr", "rtl"])
def test_attention_one_way_needs_little_more_than_half(objective: str) -> None:
    both = Configuration.of_size("2/128", 100)
    left = named(objective).configured(both)
    single, three = np.array([1], dtype=np.int32), np.array([3], dtype=np.int32)
    assert step_flops(both, single, 0, next_sentence=False) == step_flops(left, single, 0, next_sentence=False)
    saved = step_flops(both, three, 0, next_sentence=False) - step_flops(left, three, 0, next_sentence=False)
    assert saved == 3 * 2 * (2 * 2 * 128) * (9 - 6)  # three passes, two layers, two products, three pairs fewer


def test_step_flops_of_base_are_six_per_weight_and_token() -> None:
    """The rule of thumb, over the weights that are multiplied with; attention comes on top."""
    config = Configuration.of_size("base", 30522)
    lengths = np.full(256, 128)
    flops = step_flops(config, lengths, 256 * 19, next_sentence=True)
    layers = 6 * 256 * 128 * 12 * 12 * 768**2
    heads = 6 * 256 * 19 * (768**2 + 768 * 30522) + 6 * 256 * (768**2 + 2 * 768)
    attention = 12 * 256 * 128 * 128 * 768 * 12
    assert flops == layers + heads + attention == pytest.approx(1.79e13, rel=0.01)


def test_the_peak_is_that_of_different_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU multiplies equal numbers, such as ones, faster than any training's."""
    factors = list[torch.Tensor]()
    monkeypatch.setattr(flops, "_seconds", lambda left, right: factors.extend((left, right)) or 1.0)
    measured_peak(torch.device("cpu"), torch.bfloat16, repeats=1)
    assert all(factor.dtype == torch.bfloat16 and len(factor.unique()) > 1000 for factor in factors)
