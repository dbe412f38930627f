"""Heads that no published BERT architecture computes are refused, each with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from bert_samples import fresh

from benchrunner import CheckpointError
from benchrunner.engine import ExportedHead, ExportKind


@pytest.mark.parametrize(
    ("name", "reads_summary", "reason"),
    [
        ("ranking", True, "has a head of the kind 'ranking'; there are single_label_classification, multi_label"),
        ("multiple_choice", False, "BertForMultipleChoice reads the pooled first token, this head does not"),
        ("token_classification", True, "BertForTokenClassification reads the states of the tokens, this head does not"),
    ],
)
def test_a_head_that_nobody_computes_is_refused(name: str, reads_summary: bool, reason: str, tmp_path: Path) -> None:
    model = fresh()
    weights = {"weight": torch.zeros(2, model.hidden_size), "bias": torch.zeros(2)}
    with pytest.raises(CheckpointError, match=reason):
        model.save(tmp_path / "out", ExportedHead(weights, ExportKind(name), reads_summary))
    assert not (tmp_path / "out").exists()
