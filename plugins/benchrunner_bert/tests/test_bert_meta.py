"""Training steps of BERT on the device `meta`, along the path that a GPU takes, and their number of operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from bert_samples import fresh

from benchrunner import Classify, Recipe
from benchrunner.engine import Features
from benchrunner_bert.backbones import VOCABULARY
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import Bert
from benchrunner_bert.tokenizer import BertTokenizer
from kinds_of_tasks import PROBLEMS
from meta_device import features_of_kind, step_on_meta, training_on_meta

BUDGET = 1200
"""Operators of a training step at MNLI's lengths, apart from views; transformers has about 1,150."""


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("precision", ["bf16", "fp32"])
def test_a_step_of_every_problem_runs_on_meta(kind: str, precision: Any, tmp_path: Path) -> None:
    encoder, recipe = fresh(heads=6), Recipe(batch_size=8, precision=precision, max_length=64, context="sentence")
    features = features_of_kind(kind, encoder, recipe)
    training = training_on_meta(encoder, PROBLEMS[kind], features, recipe, tmp_path)
    operators = step_on_meta(training, unused=() if PROBLEMS[kind].head.reads_summary else ("encoder.pooler",))
    name = "flash" if precision == "bf16" else "efficient"
    assert operators.counts[f"aten::_{name}_attention_forward"] == 2
    assert operators.counts[f"aten::_{name}_attention_backward"] == 2


def test_layers_computed_again_run_on_meta(tmp_path: Path) -> None:
    encoder, recipe = fresh(heads=6), Recipe(batch_size=8, precision="fp32")
    encoder.recompute_layers()
    features = features_of_kind("classify", encoder, recipe)
    operators = step_on_meta(training_on_meta(encoder, PROBLEMS["classify"], features, recipe, tmp_path))
    assert operators.counts["aten::_efficient_attention_forward"] == 4


@pytest.mark.parametrize("precision", ["bf16", "fp32"])
def test_a_step_of_bert_base_at_mnlis_lengths_is_in_budget(precision: Any, tmp_path: Path) -> None:
    """A whole step: upload, forward, loss, backward, clipping and optimizer, of 32 pairs as long as MNLI's."""
    with torch.device("meta"):
        encoder = Bert(Configuration(), BertTokenizer.from_vocabulary(VOCABULARY, lowercase=True))
    problem, lengths = Classify(("entailment", "neutral", "contradiction")), mnli_lengths(64)
    starts, count = np.concatenate([[0], np.cumsum(lengths)]), np.arange(65)
    tokens = np.zeros(starts[-1], dtype=np.int32)
    features = Features(tokens, tokens.astype(np.int8), starts, count, count[:-1], {"label": np.zeros(64, np.int64)})
    training = training_on_meta(encoder, problem, features, Recipe(batch_size=32, precision=precision), tmp_path)
    step_on_meta(training)  # the first step also makes the moments of Adam
    operators = step_on_meta(training)
    assert operators.total <= BUDGET, operators.counts.most_common()
    assert operators.counts["aten::native_dropout"] == 1 + 2 * 12 + 1


def mnli_lengths(count: int) -> np.ndarray:
    """Draw lengths as MNLI's training pairs have them: 39 tokens on average, most from 20 to 60, at most 128."""
    return np.random.default_rng(3).gamma(6.5, 6, size=count).astype(np.int64).clip(8, 128)
