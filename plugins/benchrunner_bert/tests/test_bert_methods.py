"""BERT with the low-rank updates of the plugin of methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from bert_samples import FIRST, SECOND, encoded, fresh
from torch import nn

from benchrunner import Workspace
from benchrunner.engine import Dropout, collate
from benchrunner.methods.finetune import freeze
from benchrunner_bert.family import BertFamily
from benchrunner_kit.testing import check_method
from benchrunner_methods.low_rank import LowRankUpdates
from distributions import ROOT
from documents import blocks


def test_gradient_checkpointing_gives_the_same_gradients_of_lora() -> None:
    """The embeddings are frozen, so the states that enter the first layer need no gradient."""
    gradients = []
    for recomputes in (False, True):
        model = fresh()
        model.set_dropout(0.1)
        if recomputes:
            model.recompute_layers()
        freeze(model, (), "lora")
        updates = LowRankUpdates(model, rank=4, alpha=12.0, seed=3)
        for name, weight in updates.named_parameters():
            if name.endswith(".b"):  # zero before training
                nn.init.normal_(weight, generator=torch.Generator().manual_seed(1))
        features = encoded(model, FIRST, SECOND)
        flat = collate(features, np.arange(features.units), torch.device("cpu"), dropout=Dropout(1, 2))
        model.summary(model(flat), flat).square().sum().backward()
        assert all(weight.grad is None for weight in model.parameters())
        gradients.append([weight.grad for weight in updates.parameters()])
    assert all(map(torch.equal, *gradients))


def test_ia3_of_the_documentation_keeps_its_contract(tmp_path: Path) -> None:
    page = ROOT / "docs" / "reference" / "derived_methods.md"
    defined: dict[str, Any] = {"__name__": "page_methods"}
    exec("\n".join(blocks("python", page)), defined)
    family = BertFamily()
    backbone = family.find("bert/random-1/32", Workspace(tmp_path / "runs", tmp_path / "cache"))
    check_method(defined["IA3"], tmp_path, backbone=backbone, family=family)
