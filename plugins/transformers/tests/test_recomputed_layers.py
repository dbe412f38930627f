"""Layers that are computed again in the backward pass: every family has the same gradients, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from test_hub_states import SECOND, TEXTS
from tiny_models import SETTINGS, loaded, write_model

from benchrunner.engine import Dropout, Features, collate
from benchrunner_transformers.encoder import HubEncoder
from benchrunner_transformers.layers import repeated

QUICK = ("albert", "bart", "big_bird", "deberta", "roberta")
"""Model types that every run of the tests computes; the others are slow tests."""
LONG = " ".join(TEXTS * 2)
"""A text for which BigBird's attention is sparse: it has more than 144 tokens."""


def gradients(encoder: HubEncoder, *, precision: torch.dtype | None = None) -> dict[str, torch.Tensor]:
    """Compute the gradients of a made-up loss of one step with dropout."""
    features = Features.of(encoder.assemble([*TEXTS, LONG], [*SECOND, "the dog"], min(250, encoder.max_length)))
    batch = collate(features, np.arange(len(TEXTS) + 1), torch.device("cpu"), dropout=Dropout(3, 1))
    encoder.zero_grad(set_to_none=True)
    encoder.train()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision is not None):
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


CASES = [
    pytest.param(name, kind, id=f"{name}-{kind}", marks=() if name in QUICK else pytest.mark.slow)
    for name in SETTINGS
    for kind in (None, torch.bfloat16)
]


@pytest.mark.parametrize(("model_type", "precision"), CASES)
def test_gradients_are_the_same_bits(model_type: str, precision: torch.dtype | None, tmp_path: Path) -> None:
    write_model(model_type, tmp_path)
    encoder = loaded(tmp_path)
    encoder.set_dropout(0.1)
    calls = counted(encoder)
    expected = gradients(encoder, precision=precision)
    once = len(calls)
    encoder.recompute_layers()
    actual = gradients(encoder, precision=precision)
    assert once > 0 and len(calls) == 3 * once, "once before, and now twice"
    assert actual.keys() == expected.keys() and len(actual) > 10
    for name, gradient in expected.items():
        assert gradient.isfinite().all() and torch.equal(actual[name], gradient), name


def test_bigbird_recomputes_with_the_attention_of_the_first_pass(tmp_path: Path) -> None:
    write_model("big_bird", tmp_path)
    encoder = loaded(tmp_path)
    features = Features.of(encoder.assemble([*TEXTS, LONG], None, 250))
    batch = replace(collate(features, np.arange(len(TEXTS) + 1), torch.device("cpu")), dropout=Dropout(3, 1))
    kinds = [encoder._buckets(batch)[place].longest > 144 for place in (0, -1)]
    assert kinds == [False, True], "full attention first, then sparse attention: the backward pass begins with the last"
