"""Pre-training steps on the device `meta`, along the path that a GPU takes, and their number of operators.

On `meta`, mixing devices, reading a value and results whose sizes depend on values raise an error.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from benchrunner.engine import Dropout
from benchrunner.training.optimizer import AdamW
from benchrunner_bert.backbones import VOCABULARY
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import Bert
from benchrunner_bert.pretraining.deepspeed.adam import PaperAdam
from benchrunner_bert.pretraining.instances.batches import PretrainingBatch, pack
from benchrunner_bert.pretraining.instances.instance import Instance
from benchrunner_bert.pretraining.objectives import OBJECTIVES
from benchrunner_bert.pretraining.training.model import PretrainingModel
from benchrunner_bert.tokenizer import BertTokenizer
from meta_device import Casts, Operators

META = torch.device("meta")
BUDGET = 900
"""Operators of a step of BASE, apart from views: of the forward and the backward pass, and of Adam."""


def on_meta(objective: str, config: Configuration, precision: str) -> tuple[PretrainingModel, PaperAdam]:
    tokenizer = BertTokenizer.from_vocabulary(VOCABULARY, lowercase=True)
    with META:
        directed = replace(config, direction=OBJECTIVES[objective].direction)
        model = PretrainingModel(Bert(directed, tokenizer), OBJECTIVES[objective]).train()
    model.precision = precision
    learnt = [weight for weight in model.parameters() if weight.requires_grad]
    groups = [{"params": learnt, "weight_decay": 0.01}]
    return model, PaperAdam(groups, AdamW(0.9, 0.999, 1e-6, False))


def batch(lengths: list[int], *, next_sentence: bool) -> PretrainingBatch:
    instances = []
    for number, length in enumerate(lengths):
        tokens, places = np.arange(length, dtype=np.int32), np.arange(1, length, 7)
        is_next = number % 2 if next_sentence else -1
        instances.append(Instance(tokens, tokens.astype(np.int8), places, tokens[places], is_next))
    return pack(instances).on(META, dropout=Dropout(0, 3, 0, 0), multiple=64)


def step(model: PretrainingModel, adam: PaperAdam, given: PretrainingBatch, patch: pytest.MonkeyPatch) -> Operators:
    """Take a step as the training loop does, and return its operators."""
    casts = Casts()
    patch.setattr(torch, "autocast", casts.autocast)
    adam.param_groups[0].update(lr=1e-4, step=1)
    with Operators() as operators, casts:
        sums = model(given)
        sums.loss(len(given.labels), len(given.is_next)).backward()
        adam.step()
        totals = torch.stack([value.double() for value in sums.detached()])
    assert all(value.device == META and value.shape == () for value in sums) and totals.shape == (6,)
    for name, weight in model.named_parameters():
        assert not weight.requires_grad or (weight.grad is not None and weight.grad.dtype == torch.float32), name
    return operators


@pytest.mark.parametrize("precision", ["bf16", "fp32"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_step_of_every_objective_runs_on_meta(
    objective: str, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Configuration.of_size("2/48", 30522)
    model, adam = on_meta(objective, config, precision)
    step(model, adam, batch([9, 24, 17, 24], next_sentence=OBJECTIVES[objective].next_sentence), monkeypatch)


@pytest.mark.parametrize("precision", ["bf16", "fp32"])
def test_a_step_of_bert_base_is_in_the_budget_of_operators(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, adam = on_meta("mlm+nsp", Configuration(), precision)
    given = batch([128] * 230 + list(range(20, 46)), next_sentence=True)
    step(model, adam, given, monkeypatch)  # the first step also makes the moments of Adam
    model.zero_grad()
    operators = step(model, adam, given, monkeypatch)
    assert operators.total <= BUDGET, operators.counts.most_common()
    assert operators.counts["aten::_fused_adamw_"] == 1
