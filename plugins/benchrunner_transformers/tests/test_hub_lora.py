"""LoRA and learning rates by depth on models of the library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_models import loaded, write_model
from torch import nn

from benchrunner.engine import Encoder, Features, FlatBatch, collate
from benchrunner.methods.finetune import freeze, learning_rates
from benchrunner_methods.decomposed import DecomposedUpdates
from benchrunner_methods.low_rank import LowRankUpdates

TRAINED_WHOLE = {"bart": True, "roberta": True, "distilbert": True, "electra": True, "gpt2": False, "modernbert": True}
"""Model type -> whether its published class for sentences has a dense layer that pre-trained checkpoints lack."""


MODELS = ("albert", "bart:encoder", "gpt2", "modernbert", "t5", "xlnet")


def batch_of(encoder: Encoder) -> FlatBatch:
    texts = ["The old man sat by the river.", "dog", "What is the name of the dog? Nobody knew how long."]
    features = Features.of(encoder.assemble(texts, None, 120))
    return collate(features, np.arange(len(texts)), torch.device("cpu"), multiple=7)


@pytest.mark.parametrize("name", MODELS)
def test_merged_weights_compute_what_the_updates_did(tmp_path: Path, name: str) -> None:
    model_type, _, part = name.partition(":")
    write_model(model_type, tmp_path)
    encoder = loaded(tmp_path, f":{part}" if part else "")
    batch = batch_of(encoder)
    with torch.no_grad():
        plain = encoder(batch)
        freeze(encoder, (), "lora")
        updates = LowRankUpdates(encoder, rank=2, alpha=4.0, seed=1)
        assert torch.equal(encoder(batch), plain), "B is zero before training"
        for name, weight in updates.named_parameters():
            if name.endswith(".b"):
                nn.init.normal_(weight, std=0.1, generator=torch.Generator().manual_seed(3))
        separate = encoder(batch)
        assert (separate - plain).abs().max() > 1e-3
        updates.merge()
        torch.testing.assert_close(encoder(batch), separate, rtol=1e-5, atol=1e-5)
    assert all(
        name.startswith("summary_layers.") for name, weight in encoder.named_parameters() if weight.requires_grad
    )


@pytest.mark.parametrize("name", ["albert", "gpt2"])
def test_merged_weights_compute_what_dora_did(tmp_path: Path, name: str) -> None:
    write_model(name, tmp_path)
    encoder = loaded(tmp_path)
    batch = batch_of(encoder)
    with torch.no_grad():
        plain = encoder(batch)
        freeze(encoder, (), "dora")
        updates = DecomposedUpdates(encoder, rank=2, alpha=4.0, seed=1)
        torch.testing.assert_close(encoder(batch), plain)
        for weight in updates.parameters():
            weight += torch.empty_like(weight).normal_(std=0.1, generator=torch.Generator().manual_seed(3))
        separate = encoder(batch)
        assert (separate - plain).abs().max() > 1e-3
        updates.merge()
        torch.testing.assert_close(encoder(batch), separate, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", TRAINED_WHOLE)
def test_a_dense_layer_that_checkpoints_lack_is_part_of_the_head(tmp_path: Path, name: str) -> None:
    write_model(name, tmp_path / "start")
    encoder = loaded(tmp_path / "start")
    rates = dict(learning_rates(encoder, 0.5))
    summary = {name for name in rates if name.startswith("summary_layers.")}
    assert bool(summary) == TRAINED_WHOLE[name]
    assert all(rates[name] == 1.0 for name in summary)
    freeze(encoder, (), "lora")
    LowRankUpdates(encoder, rank=2, alpha=4.0, seed=1)
    assert {name for name, weight in encoder.named_parameters() if weight.requires_grad} == summary
    encoder.save(tmp_path / "saved")
    assert not loaded(tmp_path / "saved").fresh_modules, "a fit has trained its weights"
