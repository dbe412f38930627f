"""LoRA and learning rates by depth on models of the library."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_models import loaded, write_model

from benchrunner.methods.finetune import freeze, learning_rates
from benchrunner_methods.low_rank import LowRankUpdates

TRAINED_WHOLE = {"bart": True, "roberta": True, "distilbert": True, "electra": True, "gpt2": False, "modernbert": True}
"""Model type -> whether its published class for sentences has a dense layer that pre-trained checkpoints lack."""


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
