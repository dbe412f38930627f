"""Figures of a pre-training: speed in the log, held-out texts, and floating-point operations."""

from __future__ import annotations

import dataclasses
import math
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from objective_samples import SHAPES, batch, forward_and_backward, model
from torch.utils.flop_counter import FlopCounterMode

from benchrunner import Undefined
from benchrunner.engine import Dropout
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.pretraining.objectives import OBJECTIVES
from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training.held_out import held_out_figures, summed
from benchrunner_bert.pretraining.training.log_window import LogWindow
from benchrunner_bert.pretraining.training.sums import Sums

CONFIG = Configuration.of_size("2/128", 1000)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def window(*, world: int, batch_size: int) -> Any:
    engine: Any = SimpleNamespace(device=torch.device("cpu"), world=world)
    model: Any = SimpleNamespace(config=CONFIG, objective=OBJECTIVES["mlm+nsp"])
    return LogWindow(Settings(steps=100, batch_size=batch_size), model, engine, ())


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


def test_held_out_figures_are_those_of_all_batches_together() -> None:
    whole = model("mlm+nsp")
    batches = [batch(whole), batch(whole, pairs=False)]
    batches[1] = dataclasses.replace(batches[1], positions=batches[1].positions[:3], labels=batches[1].labels[:3])
    figures, parts = held_out_figures(summed(whole, batches)), [whole(given) for given in batches]
    total = Sums(*(sum(values).item() for values in zip(*parts, strict=True)))  # type: ignore[arg-type]
    assert (figures["tokens"], figures["pairs"]) == (total.mlm_count, 14) and total.mlm_count > 6
    assert figures["mlm_loss"] == pytest.approx(total.mlm_loss / total.mlm_count, rel=1e-5)
    assert figures["perplexity"] == pytest.approx(math.exp(figures["mlm_loss"]))
    assert figures["mlm_accuracy"] == pytest.approx(total.mlm_correct / total.mlm_count)
    assert figures["nsp_loss"] == pytest.approx(total.nsp_loss / 14, rel=1e-5)
    assert figures["nsp_accuracy"] == pytest.approx(total.nsp_correct / 14)
    assert all(parameter.grad is None for parameter in whole.parameters())


def test_no_batches_have_no_figures() -> None:
    with pytest.raises(Undefined, match="No held-out token was predicted"):
        held_out_figures(summed(model("mlm"), []))


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
