"""Layers that are computed again, or for the tokens of a summary alone: the same vectors and gradients."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from test_hub_states import FLAT, SECOND, TEXTS, batch_of, gradients
from tiny_models import SETTINGS, loaded, write_model
from torch import nn

from benchrunner.engine import Dropout, Features, collate
from benchrunner_transformers.model.encoder import HubEncoder
from benchrunner_transformers.model.layers import layers_of, repeated

QUICK = ("albert", "bart", "big_bird", "deberta", "roberta")
"""Model types that every run of the tests computes; the others are slow tests."""
LONG = " ".join(TEXTS * 2)
"""A text for which BigBird's attention is sparse: it has more than 144 tokens."""


def step_gradients(
    encoder: HubEncoder, *, precision: torch.dtype | None = None, casts_together: bool = False
) -> dict[str, torch.Tensor]:
    """Compute the gradients of a made-up loss of one step with dropout."""
    features = Features.of(encoder.assemble([*TEXTS, LONG], [*SECOND, "the dog"], min(250, encoder.max_length)))
    batch = collate(features, np.arange(len(TEXTS) + 1), torch.device("cpu"), dropout=Dropout(3, 1))
    encoder.zero_grad(set_to_none=True)
    encoder.train()
    casting = encoder.cast_together() if casts_together else nullcontext()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision is not None), casting:
        states = encoder(batch)
        loss = encoder.summary(states, batch).float().square().sum() + states.float().sin().sum()
    loss.backward()  # type: ignore[no-untyped-call]
    return {name: weight.grad.clone() for name, weight in encoder.named_parameters() if weight.grad is not None}


def counted(encoder: HubEncoder) -> list[int]:
    """Return a list that gets an entry whenever the first weights of the lowest layer are used."""
    calls: list[int] = []
    parts = repeated(encoder.model)[0].modules()
    used = next(part for part in parts if not list(part.children()) and list(part.parameters()))
    used.register_forward_pre_hook(lambda *_: calls.append(1))
    return calls


HALF = ("albert", "roberta")
"""Those of them that are computed in bf16, too: without and with casts by the layers."""
CASES = [
    *(pytest.param(name, None, marks=() if name in QUICK else pytest.mark.slow) for name in SETTINGS),
    *(pytest.param(name, torch.bfloat16, marks=() if name in HALF else pytest.mark.slow) for name in SETTINGS),
]


@pytest.mark.parametrize(("model_type", "precision"), CASES)
def test_gradients_are_the_same_bits(model_type: str, precision: torch.dtype | None, tmp_path: Path) -> None:
    write_model(model_type, tmp_path)
    encoder = loaded(tmp_path)
    encoder.set_dropout(0.1)
    calls = counted(encoder)
    expected = step_gradients(encoder, precision=precision)
    once = len(calls)
    encoder.recompute_layers()
    actual = step_gradients(encoder, precision=precision)
    assert once > 0 and len(calls) == 3 * once, "once before, and now twice"
    assert actual.keys() == expected.keys() and len(actual) > 10
    for name, gradient in expected.items():
        assert gradient.isfinite().all() and torch.equal(actual[name], gradient), name


@pytest.mark.parametrize(
    "model_type", [pytest.param(name, marks=() if name in HALF else pytest.mark.slow) for name in SETTINGS]
)
def test_weights_cast_together_give_the_same_gradients(model_type: str, tmp_path: Path) -> None:
    write_model(model_type, tmp_path)
    encoder = loaded(tmp_path)
    encoder.set_dropout(0.1)
    expected, actual = (
        step_gradients(encoder, precision=torch.bfloat16, casts_together=together) for together in (False, True)
    )
    assert actual.keys() == expected.keys()
    assert encoder.autocasts_layers == (model_type not in ("albert", "big_bird", "deberta"))
    for name, gradient in expected.items():
        assert actual[name].dtype == gradient.dtype and torch.equal(actual[name], gradient), name


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


@pytest.mark.parametrize(
    "model_type",
    [pytest.param(name, marks=() if name in ("bert", "modernbert") else pytest.mark.slow) for name in NARROW],
)
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
