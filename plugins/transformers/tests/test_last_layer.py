"""The last layer computed for the tokens that a summary reads: the same vectors and gradients, with less work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from test_hub_states import FLAT, TEXTS, batch_of, gradients
from tiny_models import loaded, write_model
from torch import nn

from benchrunner.engine import Dropout, FlatBatch
from benchrunner_transformers.encoder import HubEncoder
from benchrunner_transformers.layers import layers_of

WHOLE = {"albert": "shares one layer", "deberta-v2": "has an attention of its own", "gpt2": "fixes the tokens' number"}
"""Model types whose last layer is always computed for all tokens -> why."""
NARROW = [name for name in FLAT if name not in WHOLE and name != "eurobert"]  # EuroBERT's summary reads all tokens


def encoder_of(model_type: str, folder: Path, rate: float = 0.0) -> HubEncoder:
    """Load a random model of a type."""
    write_model(model_type, folder)
    encoder = loaded(folder)
    encoder.set_dropout(rate)
    return encoder


def learned(encoder: HubEncoder, vectors: torch.Tensor) -> dict[str, torch.Tensor]:
    """Compute the gradients of a made-up loss of the vectors."""
    encoder.zero_grad()
    vectors.float().sin().sum().backward()  # type: ignore[no-untyped-call]
    return gradients(encoder)


def of_dropout(encoder: HubEncoder, step: int) -> FlatBatch:
    """Make a batch whose dropout is that of a step."""
    return replace(batch_of(encoder, TEXTS, None)[0], dropout=Dropout(3, step))


@pytest.mark.parametrize("model_type", NARROW)
def test_summaries_and_gradients_are_those_of_the_whole_layer(model_type: str, tmp_path: Path) -> None:
    encoder = encoder_of(model_type, tmp_path)
    batch, _ = batch_of(encoder, TEXTS, None)
    rows: list[int] = []
    last = layers_of(encoder.model)[-1]
    for part in (part for part in last.modules() if isinstance(part, nn.Linear)):
        part.register_forward_hook(lambda module, inputs, output: rows.append(output.shape[-2]))
    expected = encoder.summary(encoder(batch), batch)
    whole, expected_gradients = sum(rows), learned(encoder, expected)
    rows.clear()
    vectors = encoder.summarized(batch)
    assert set(rows) == {len(batch.tokens), len(TEXTS)} and sum(rows) < 0.8 * whole
    torch.testing.assert_close(vectors, expected, atol=1e-5, rtol=1e-5)
    actual = learned(encoder, vectors)
    assert actual.keys() == expected_gradients.keys()
    for name, gradient in expected_gradients.items():
        assert (actual[name] - gradient).abs().max() <= 1e-4 * max(1.0, float(gradient.abs().max())), name


@pytest.mark.parametrize("model_type", WHOLE)
def test_other_layers_compute_all_tokens(model_type: str, tmp_path: Path) -> None:
    encoder = encoder_of(model_type, tmp_path)
    batch, _ = batch_of(encoder, TEXTS, None)
    assert torch.equal(encoder.summarized(batch), encoder.summary(encoder(batch), batch))
    assert not any("forward" in layer.__dict__ for layer in layers_of(encoder.model))


def test_a_layer_that_mixes_tokens_computes_all(tmp_path: Path) -> None:
    """The difference to the whole layer is noticed when the model is loaded."""
    from benchrunner_transformers.flat_attention import reads_last_tokens
    from benchrunner_transformers.last_layer import widen

    class Mixing(nn.Module):
        def forward(self, hidden: torch.Tensor) -> torch.Tensor:
            return hidden + hidden.mean(1, keepdim=True)

    encoder = encoder_of("bert", tmp_path)
    model: Any = encoder.model
    last = layers_of(model)[-1]
    widen(last)
    assert reads_last_tokens(model)
    widen(last)
    model.encoder.layer[-1].intermediate = nn.Sequential(Mixing(), model.encoder.layer[-1].intermediate)
    assert not reads_last_tokens(model)
    assert "forward" not in last.__dict__


@pytest.mark.parametrize("precision", [None, torch.bfloat16])
def test_a_recomputed_layer_has_the_same_gradients(precision: torch.dtype | None, tmp_path: Path) -> None:
    encoder = encoder_of("roberta", tmp_path, 0.3)
    results = []
    for recomputed in (False, True):
        if recomputed:
            encoder.recompute_layers()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision is not None):
            vectors = encoder.summarized(of_dropout(encoder, 1))
        results.append(learned(encoder, vectors))
    assert results[0].keys() == results[1].keys() and len(results[0]) > 10
    assert all(torch.equal(results[0][name], results[1][name]) for name in results[0])
