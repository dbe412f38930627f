"""Every text architecture of the library: how it reads a batch, with the library's states, or why it is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from any_model import write_any_model
from family_table import BATCHES, PAGE, QUICK, REFUSED, UNTRIED, families_section
from test_hub_states import SECOND, TEXTS, batch_of, gradients
from tiny_models import loaded

from benchrunner import CheckpointError
from benchrunner_transformers.checkpoint.habits import without_cache
from benchrunner_transformers.model.encoder import HubEncoder

EXPECTED = {name: way for way, names in BATCHES.items() for name in names} | REFUSED

IN_FP64 = ("ctrl",)
"""Model types whose gradients differ by more than 1e-4 in fp32 by rounding alone."""


def way_of(encoder: HubEncoder) -> str:
    """Return the key of `BATCHES` for a model."""
    if encoder._reads_flat:
        return "without padding"
    return "equal lengths" if encoder._habits.mixes_padding else "padded"


def reference(folder: Path, encoder: HubEncoder) -> Any:
    """Load the model, or the encoder of a model, with the library alone and its plain attention."""
    from transformers import AutoModel

    model_class = type(encoder.model)
    auto = model_class if model_class.__name__.endswith("EncoderModel") else AutoModel
    try:
        model = auto.from_pretrained(folder, config=encoder.model.config, attn_implementation="eager")
    except ValueError:  # a class without several kinds of attention
        model = auto.from_pretrained(folder, config=encoder.model.config)
    model = model.get_encoder() if encoder.encoder_only and type(model) is not model_class else model
    assert type(model) is model_class
    return model.eval()


def states_alone(model: Any, tokens: np.ndarray, segments: np.ndarray | None) -> list[torch.Tensor]:
    """Compute the states of a sequence: those of the layers if all have a state per token, and the last."""
    inputs = {"input_ids": torch.from_numpy(tokens.astype(np.int64))[None]}
    if segments is not None:
        inputs["token_type_ids"] = torch.from_numpy(segments.astype(np.int64))[None]
    if model.config.model_type == "longformer":
        inputs["global_attention_mask"] = (torch.arange(len(tokens)) == 0).long()[None]
    outputs = model(**inputs, **without_cache(model), output_hidden_states=True)
    states = outputs.get("hidden_states") or outputs.get("decoder_hidden_states") or ()
    last = outputs.last_hidden_state
    below = states[:-1] if all(layer.shape == last.shape for layer in states[:-1]) else ()
    return [*(layer[0] for layer in below), last[0]]


def check_states(encoder: HubEncoder, model: Any) -> None:
    """Compare the states and gradients of ragged batches with those of each sequence alone."""
    if model.config.model_type in IN_FP64:
        encoder, model = encoder.double(), model.double()
    with_segments = encoder._habits.takes_segments and encoder.tokenizer.reads_segments
    for second in (None, SECOND):
        batch, features = batch_of(encoder, TEXTS, second)
        states = list(encoder.hidden_states(batch))
        expected = []
        for row in np.argsort(features.lengths, kind="stable"):
            place = slice(features.starts[row], features.starts[row + 1])
            segments = features.segments[place] if with_segments else None
            expected.append(states_alone(model, features.tokens[place], segments))
        assert len(states) == len(expected[0])
        for layer, parts in zip(states, zip(*expected, strict=True), strict=True):
            whole = torch.cat(parts)
            assert (layer[: batch.real] - whole).abs().max() <= 1e-5 * max(1, whole.abs().max())
    weights = torch.randn(batch.real, encoder.hidden_size, generator=torch.Generator().manual_seed(1)).to(states[-1])
    (states[-1][: batch.real] * weights).sum().backward()
    (torch.cat([layers[-1] for layers in expected]) * weights).sum().backward()
    ours, theirs = gradients(encoder), gradients(model)
    assert ours.keys() == theirs.keys() and len(ours) > 3
    for name, gradient in theirs.items():
        assert (ours[name] - gradient).abs().max() <= 1e-4 * max(1, gradient.abs().max()), name


def check_family(model_type: str, folder: Path) -> None:
    write_any_model(model_type, folder)
    if model_type in REFUSED:
        with pytest.raises(CheckpointError, match=re.escape(REFUSED[model_type])):
            loaded(folder)
        return
    encoder = loaded(folder)
    assert way_of(encoder) == EXPECTED[model_type]
    check_states(encoder, reference(folder, encoder))


@pytest.mark.parametrize("model_type", QUICK)
def test_a_family_reads_batches_as_the_table_says(model_type: str, tmp_path: Path) -> None:
    check_family(model_type, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("model_type", sorted(EXPECTED))
def test_every_family_reads_batches_as_the_table_says(model_type: str, tmp_path: Path) -> None:
    check_family(model_type, tmp_path)


def test_every_text_architecture_of_the_library_is_in_the_table() -> None:
    """The classes for filling in words, for generation and for classification say what is a text architecture."""
    from transformers.models.auto import modeling_auto

    kinds = ("CAUSAL_LM", "MASKED_LM", "SEQ_TO_SEQ_CAUSAL_LM", "SEQUENCE_CLASSIFICATION", "TEXT_ENCODING")
    text = {name for kind in kinds for name in getattr(modeling_auto, f"MODEL_FOR_{kind}_MAPPING_NAMES")}
    missing = (text & set(modeling_auto.MODEL_MAPPING_NAMES)) - EXPECTED.keys() - UNTRIED
    assert not missing


def test_the_readme_lists_the_families_of_the_table() -> None:
    assert families_section() in PAGE.read_text(encoding="utf-8"), (
        "run python plugins/benchrunner_transformers/tests/family_table.py"
    )
