"""Dropout scatters the gradients of a batch as much as in transformers, and leaves their mean where it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from bert_samples import ANSWER, FIRST, SECOND, encoded, exported, fresh, padded
from torch import Tensor
from transformers import BertForSequenceClassification

from benchrunner.features.flat_batch import collate
from benchrunner.features.randomness import Dropout
from benchrunner.methods.heads import LinearHead

DRAWS = 400


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "attention_rate"), [(0.1, 0.0), (0.0, 0.3), (0.1, 0.1)])
def test_dropout_moves_gradients_as_in_transformers(rate: float, attention_rate: float, tmp_path: Path) -> None:
    model = fresh(hidden=24, inner=48, dropout=rate, attention_dropout=attention_rate)
    head = LinearHead(model.hidden_size, ANSWER.head, seed=0)
    labels = [row % 2 for row in range(len(FIRST))]
    features = encoded(model, FIRST, SECOND, labels=labels)
    units = np.arange(len(FIRST))
    model.save(tmp_path, exported(head, ANSWER))
    other = BertForSequenceClassification.from_pretrained(tmp_path).train()
    assert other.config.attention_probs_dropout_prob == attention_rate
    inputs = padded(features, units)

    def ours(number: int) -> Tensor:
        batch = collate(features, units, torch.device("cpu"), dropout=Dropout(number, "step", 0))
        weights = (*model.embeddings.norm.parameters(), model.pooler.weight, head.output.weight)
        return gradient(head(model, batch), weights)

    def theirs(number: int) -> Tensor:
        torch.manual_seed(number)
        weights = (
            *other.bert.embeddings.LayerNorm.parameters(),
            other.bert.pooler.dense.weight,
            other.classifier.weight,
        )
        return gradient(other(**inputs).logits, weights)

    def gradient(outputs: Tensor, weights: tuple[Tensor, ...]) -> Tensor:
        loss = torch.nn.functional.cross_entropy(outputs, torch.tensor(labels))
        return torch.cat([part.flatten() for part in torch.autograd.grad(loss, weights)]).double()

    drawn = [torch.stack([draw(number) for number in range(DRAWS)]) for draw in (ours, theirs)]
    (mean, expected), (variance, expected_variance) = ([of(one, 0) for one in drawn] for of in (torch.mean, torch.var))
    distance = (mean - expected) / ((variance + expected_variance) / DRAWS).sqrt().clamp(min=1e-12)
    assert distance.square().mean().sqrt() < 2
    assert 0.85 < variance.sum() / expected_variance.sum() < 1.15
