"""LoRA on a BERT: the formula on separate query, key and value, gradient checkpointing, and half precision."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from bert_samples import FIRST, SECOND, encoded, fresh
from safetensors.torch import load_file, save_file
from torch import nn
from torch.func import functional_call

from benchrunner.engine import Dropout, FlatBatch, collate
from benchrunner_bert.checkpoint import read
from benchrunner_bert.model import Bert
from benchrunner_bert.weight_names import published_names, published_weights
from benchrunner_methods.low_rank import LowRankUpdates

RANK, ALPHA = 4, 12.0


def batch(model: Bert) -> FlatBatch:
    features = encoded(model, FIRST, SECOND)
    return collate(features, np.arange(features.units), torch.device("cpu"), dropout=Dropout(1, 2))


def updated(model: Bert) -> LowRankUpdates:
    """Make updates of a model whose B is not zero, as after training."""
    updates = LowRankUpdates(model, rank=RANK, alpha=ALPHA, seed=3)
    source = torch.Generator().manual_seed(1)
    for name, weight in updates.named_parameters():
        if name.endswith(".b"):
            nn.init.normal_(weight, std=0.1, generator=source)
    return updates


def gradients(model: Bert, updates: LowRankUpdates, *, precision: torch.dtype = torch.float32) -> list[torch.Tensor]:
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == torch.bfloat16):
        flat = batch(model)
        model.summary(model(flat), flat).float().square().sum().backward()
    assert all(weight.grad is None for weight in model.parameters())
    found = [weight.grad for weight in updates.parameters() if weight.grad is not None]
    assert len(found) == 2 * len(updates.updates)
    for weight in updates.parameters():
        weight.grad = None
    return found


def test_updates_are_those_of_the_published_separate_layers() -> None:
    """transformers' model with W + (alpha / rank) B A in each linear layer computes our states."""
    from transformers import BertConfig, BertModel

    model = fresh()
    model.set_dropout(0.0)
    updates = updated(model)
    weights = published_weights(model)
    a_and_b = iter([(update.get_parameter("a"), update.get_parameter("b")) for update in updates.updates])
    for ours, published in published_names(model):
        if ours.endswith(".weight") and "norm" not in ours and "embeddings" not in ours:
            a, b = next(a_and_b)
            for name, a_part, b_part in zip(published, a.chunk(len(published)), b.chunk(len(published)), strict=True):
                assert a_part.shape[0] == b_part.shape[1] == RANK
                weights[name] = weights[name] + ALPHA / RANK * b_part @ a_part
    settings = {"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96, "hidden_size": 48}
    config = BertConfig(vocab_size=8000, max_position_embeddings=64, **settings)
    theirs = BertModel(config).eval()
    features = encoded(model, FIRST)
    for unit in range(3):
        tokens = torch.from_numpy(features.tokens[features.starts[unit] : features.starts[unit + 1]]).long()[None]
        flat = collate(features, np.array([unit]), torch.device("cpu"))
        expected = functional_call(theirs, weights, (tokens,))
        states = model(flat)
        torch.testing.assert_close(states, expected.last_hidden_state[0], rtol=0, atol=1e-5)
        torch.testing.assert_close(model.summary(states, flat), expected.pooler_output, rtol=0, atol=1e-5)


def test_gradient_checkpointing_gives_the_same_gradients() -> None:
    """The embeddings are frozen, so the states that enter the first layer need no gradient."""
    found = []
    for recomputes in (False, True):
        model = fresh()
        model.set_dropout(0.1)
        model.recomputes = recomputes
        found.append(gradients(model, updated(model)))
    assert all(map(torch.equal, *found))


@pytest.mark.parametrize("has_pooler", [True, False])
def test_a_pooler_that_the_checkpoint_lacks_is_trained_whole(tmp_path: Path, has_pooler: bool) -> None:
    fresh().save(tmp_path)
    if not has_pooler:
        tensors = load_file(tmp_path / "model.safetensors")
        kept = {name: tensor for name, tensor in tensors.items() if not name.startswith("pooler.")}
        save_file(kept, tmp_path / "model.safetensors", metadata={"format": "pt"})
    model = read(tmp_path, seed=0)
    LowRankUpdates(model, rank=RANK, alpha=ALPHA, seed=3)
    trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert trained == (set() if has_pooler else {"pooler.weight", "pooler.bias"})
