"""Figures of a pre-training: speed in the log, held-out texts, and floating-point operations."""

from __future__ import annotations

import math
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from objective_samples import SHAPES, batch, forward_and_backward, micro_batches, model
from torch.utils.flop_counter import FlopCounterMode

from benchrunner import Undefined
from benchrunner.engine import Dropout
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.pretraining.objectives import named
from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training import log_window
from benchrunner_bert.pretraining.training.held_out import held_out_figures, summed
from benchrunner_bert.pretraining.training.log_window import LogWindow, measured_peak
from benchrunner_bert.pretraining.training.sums import Sums

CONFIG = Configuration.of_size("2/128", 1000)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def window(*, world: int, batch_size: int, pending: tuple[float, ...] = ()) -> Any:
    engine: Any = SimpleNamespace(device=torch.device("cpu"), world=world)
    model: Any = SimpleNamespace(config=CONFIG, objective=named("mlm+nsp"))
    return LogWindow(Settings(steps=100, batch_size=batch_size), model, engine, pending)


def sums(tokens: int, pairs: int) -> Sums:
    return Sums(*(torch.tensor(float(one)) for one in (2.0 * tokens, tokens, 1, 0.7 * pairs, pairs, 1)))


def test_rates_are_scaled_from_one_process_to_the_whole_batch(clock: list[float]) -> None:
    """Of five sequences on four processes the first has two, the others one each."""
    found = window(world=4, batch_size=5)
    found.add(sums(10, 5), np.array([100, 100]))
    clock[0] += 2.0
    figures = found.figures(1)
    assert figures["sequences_per_second"] == 2.5
    assert figures["tokens_per_second"] == 250.0
    wanted = CONFIG.step_flops(np.array([100] * 5), 10, next_sentence=True)
    assert figures["flops_per_second"] == pytest.approx(wanted / 2.0)
    assert figures["seconds_left"] == pytest.approx(99 * 2.0)


def test_seconds_that_were_not_spent_on_learning_do_not_count(clock: list[float]) -> None:
    found = window(world=1, batch_size=2)
    clock[0] += 30.0
    found.leave_out(30.0)  # a look at held-out text, a checkpoint
    found.add(sums(10, 0), np.array([50, 50]))
    clock[0] += 1.0
    figures = found.figures(1)
    assert (figures["sequences_per_second"], figures["tokens_per_second"]) == (2.0, 100.0)


def test_losses_include_steps_before_a_restart_and_rates_do_not(clock: list[float]) -> None:
    """Three tokens were predicted before the process began, ten since."""
    earlier = window(world=1, batch_size=2)
    assert earlier.pending == ()
    earlier.add(sums(3, 2), np.array([50, 50]))
    found = window(world=1, batch_size=2, pending=earlier.pending)
    found.add(sums(10, 2)._replace(mlm_loss=torch.tensor(59.0)), np.array([50, 50]))
    clock[0] += 2.0
    figures = found.figures(2)
    assert figures["mlm_loss"] == pytest.approx((2.0 * 3 + 59.0) / 13)
    assert (figures["sequences_per_second"], figures["tokens_per_second"]) == (1.0, 50.0)
    wanted = CONFIG.step_flops(np.array([50] * 2), 10, next_sentence=True)
    assert figures["flops_per_second"] == pytest.approx(wanted / 2.0)
    assert found.pending == ()


def test_held_out_figures_are_those_of_all_batches_together() -> None:
    whole = model("mlm+nsp")
    given = batch(whole)
    figures, sums = held_out_figures(summed(whole, micro_batches(given))), whole(given)
    assert figures["mlm_loss"] == pytest.approx(sums.mlm_loss.item() / len(given.labels), rel=1e-5)
    assert figures["perplexity"] == pytest.approx(math.exp(figures["mlm_loss"]))
    assert (figures["tokens"], figures["pairs"]) == (len(given.labels), 7)
    assert figures["nsp_accuracy"] == sums.nsp_correct.item() / 7
    assert figures["mlm_accuracy"] == sums.mlm_correct.item() / len(given.labels)
    assert all(parameter.grad is None for parameter in whole.parameters())


def test_sums_are_divided_by_their_own_counts() -> None:
    values = (math.log(4) * 8, 8, 2, 1.0, 4, 3)
    figures = held_out_figures(Sums(*(torch.tensor(float(value)) for value in values)))
    assert figures["perplexity"] == pytest.approx(4)
    assert (figures["mlm_accuracy"], figures["nsp_loss"], figures["nsp_accuracy"]) == (0.25, 0.25, 0.75)


def test_no_batches_have_no_figures() -> None:
    with pytest.raises(Undefined, match="No held-out token was predicted"):
        held_out_figures(summed(model("mlm"), []))


def test_sums_over_batches_do_not_round() -> None:
    whole = model("mlm")
    given = batch(whole)
    total = summed(whole, [given] * 3)
    assert total.mlm_loss.dtype == torch.float64 and not total.mlm_loss.requires_grad
    assert summed(whole, [given] * 3).mlm_loss == 3 * summed(whole, [given]).mlm_loss


@pytest.fixture(autouse=True)
def _no_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let attention compute every length by itself: the estimate counts no padding of its rows."""
    monkeypatch.setattr("benchrunner_checkpoints.attention.buckets.COSTS", (0, 0))
    monkeypatch.setattr("benchrunner_checkpoints.attention.buckets.SHARED_ROW", 0)


@pytest.mark.parametrize("shape", [*SHAPES, {"layers": 4}], ids=["plain", "odd", "deeper"])
@pytest.mark.parametrize("objective", ["mlm+nsp", "mlm"])
def test_operations_are_those_that_torch_counts(objective: str, shape: dict[str, int]) -> None:
    whole = model(objective, **shape)
    whole.bert.set_dropout(0.1)
    given = batch(whole, dropout=Dropout(1, 2, 3))
    with FlopCounterMode(display=False) as counter:
        forward_and_backward(whole, given)
    lengths = given.flat.starts.diff().numpy()
    wanted = whole.bert.config.step_flops(lengths, len(given.labels), next_sentence=whole.objective.next_sentence)
    assert counter.get_total_flops() == wanted


def test_attention_one_way_needs_little_more_than_half() -> None:
    both = Configuration.of_size("2/128", 100)
    left = named("ltr").configured(both)
    single, three = np.array([1], dtype=np.int32), np.array([3], dtype=np.int32)
    assert both.step_flops(single, 0, next_sentence=False) == left.step_flops(single, 0, next_sentence=False)
    saved = both.step_flops(three, 0, next_sentence=False) - left.step_flops(three, 0, next_sentence=False)
    assert saved == 3 * 2 * (2 * 2 * 128) * (9 - 6)  # three passes, two layers, two products, three pairs fewer


def test_step_flops_of_base_are_six_per_weight_and_token() -> None:
    """The rule of thumb, over the weights that are multiplied with; attention comes on top."""
    config = Configuration.of_size("base", 30522)
    lengths = np.full(256, 128)
    flops = config.step_flops(lengths, 256 * 19, next_sentence=True)
    layers = 6 * 256 * 128 * 12 * 12 * 768**2
    heads = 6 * 256 * 19 * (768**2 + 768 * 30522) + 6 * 256 * (768**2 + 2 * 768)
    attention = 12 * 256 * 128 * 128 * 768 * 12
    assert flops == layers + heads + attention == pytest.approx(1.79e13, rel=0.01)


def test_the_peak_is_that_of_different_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU multiplies equal numbers, such as ones, faster than any training's."""
    factors = list[torch.Tensor]()
    monkeypatch.setattr(log_window, "_seconds", lambda left, right: factors.extend((left, right)) or 1.0)
    measured_peak(torch.device("cpu"), torch.bfloat16, repeats=1)
    assert all(factor.dtype == torch.bfloat16 and len(factor.unique()) > 1000 for factor in factors)
