"""States and gradients of every family on ragged batches, beside those of transformers for each sequence alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import SETTINGS, loaded, write_model

from benchrunner.engine import Encoder, Features, FlatBatch, collate
from benchrunner_transformers.checkpoint.habits import without_cache
from benchrunner_transformers.model.encoder import HubEncoder

TEXTS = [
    "The old man sat by the river.",
    "dog",
    "What is the name of the dog? Nobody knew how long.",
    "Come in, she said",
    "the the the the the",
    "She opened the window, looked outside and saw that everything was covered with snow. Then she closed it quickly.",
]
SECOND = ["It rains.", "A quick brown fox", "", "Yes, he did.", "the dog", "What is it?"]
FLAT = ["albert", "bert", "camembert", "deberta-v2", "distilbert", "electra", "eurobert", "gpt2"]
FLAT += ["gpt_neox", "modernbert", "qwen2", "qwen3", "roberta", "xlm-roberta"]
"""Model types that read flat batches without padding."""
SEGMENTS = ("albert", "bert", "big_bird", "electra", "fnet", "xlnet")
QUICK = ("bert", "deberta-v2", "gpt2", "modernbert")
"""Those of them that every run of the tests compares; `test_flat_attention` compares the attention of all others."""
OTHERS = [name for name in SETTINGS if name not in FLAT and name != "funnel"]
NAMES = [
    *OTHERS,
    *(pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in FLAT),
    "bart:encoder",
    *(pytest.param(f"{name}:padded", marks=() if name == "bert" else pytest.mark.slow) for name in FLAT),
]
"""Model types, the encoder of BART alone, and models that read flat batches but are given padded batches."""


def batch_of(encoder: Encoder, first: Sequence[str], second: Sequence[str] | None) -> tuple[FlatBatch, Features]:
    features = Features.of(encoder.assemble(first, second, min(120, encoder.max_length)))
    return collate(features, np.arange(len(first)), torch.device("cpu"), multiple=7), features


def states_alone(model: Any, tokens: np.ndarray, segments: np.ndarray | None) -> list[torch.Tensor]:
    """Compute the states of a sequence: those of the layers if all have a state per token, and the last."""
    inputs = {"input_ids": torch.from_numpy(tokens.astype(np.int64))[None]}
    if segments is not None:
        inputs["token_type_ids"] = torch.from_numpy(segments.astype(np.int64))[None]
    if model.config.model_type == "longformer":  # as in the published class for sentences
        inputs["global_attention_mask"] = (torch.arange(len(tokens)) == 0).long()[None]
    outputs = model(**inputs, **without_cache(model), output_hidden_states=True)
    states = outputs.get("hidden_states") or outputs.get("decoder_hidden_states") or ()
    last = outputs.last_hidden_state
    below = states[:-1] if all(layer.shape == last.shape for layer in states[:-1]) else ()
    return [*(layer[0] for layer in below), last[0]]


def gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix("model."): weight.grad.clone()
        for name, weight in model.named_parameters()
        if weight.grad is not None and bool(weight.grad.any())
    }


def check_states(encoder: HubEncoder, model: Any) -> None:
    """Compare the states and gradients of ragged batches with those of each sequence alone."""
    with_segments = encoder._habits.takes_segments and encoder.tokenizer.reads_segments
    for second in (None, SECOND):
        batch, features = batch_of(encoder, TEXTS, second)
        states = list(encoder.hidden_states(batch))
        assert torch.equal(encoder(batch), states[-1])
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


@pytest.mark.parametrize("name", NAMES)
def test_states_and_gradients_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    from transformers import T5EncoderModel

    model_type, _, part = name.partition(":")
    model = write_model(model_type, tmp_path)
    if part == "encoder":
        model = model.get_encoder()
    elif model_type == "t5":
        model = T5EncoderModel.from_pretrained(tmp_path)
    encoder = loaded(tmp_path, ":encoder" if part == "encoder" else "")
    assert encoder._reads_flat == (model_type in FLAT)
    assert encoder._habits.takes_segments == (model_type in SEGMENTS) or not encoder.tokenizer.reads_segments
    if part == "padded":
        encoder._reads_flat = False  # type: ignore[assignment]
    check_states(encoder, model)


def test_long_sequences_of_big_bird_attend_to_blocks(tmp_path: Path) -> None:
    """Blocks of 16 are attended to above 144 tokens; the library forgets this after a short batch."""
    model = write_model("big_bird", tmp_path)
    encoder = loaded(tmp_path)
    encoder.max_length = 250
    texts = ["river boats " * count for count in (5, 30, 60, 25, 58, 44, 45)]
    features = Features.of(encoder.assemble(texts, None, 250))
    assert sorted(features.lengths)[0] < 144 < sorted(features.lengths)[-3]
    batch = collate(features, np.arange(len(texts)), torch.device("cpu"))
    states = encoder(batch)
    for number, row in enumerate(np.argsort(features.lengths, kind="stable")):
        model.set_attention_type("block_sparse")
        place = slice(features.starts[row], features.starts[row + 1])
        expected = states_alone(model, features.tokens[place], features.segments[place])[-1]
        start, stop = batch.starts[number : number + 2].tolist()
        torch.testing.assert_close(states[start:stop], expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", ["gpt2", "xlnet", "bart", "bart:encoder", "modernbert", "t5", "deberta-v2"])
def test_layers_are_drawn_as_without_pre_training(name: str, tmp_path: Path) -> None:
    model_type, colon, part = name.partition(":")
    write_model(model_type, tmp_path)
    encoder = loaded(tmp_path, colon + part)
    count = len(encoder.layers)
    assert count == {"bart": 4, "modernbert": 3}.get(name, 2)
    assert set(encoder.depths().values()) >= set(range(count + 1))
    before = {name: weight.clone() for name, weight in encoder.named_parameters()}
    drawn = []
    for _ in range(2):
        encoder.draw_layer(count - 1, torch.Generator().manual_seed(1))
        drawn.append({name: weight.clone() for name, weight in encoder.named_parameters()})
    assert all(torch.equal(weight, drawn[1][name]) for name, weight in drawn[0].items())
    changed = [name for name, weight in drawn[0].items() if not torch.equal(weight, before[name])]
    assert changed and {encoder.depths()[name] for name in changed} == {count}
    smaller = [(drawn[0][name].std(), before[name].std()) for name in changed if before[name].ndim == 2]
    assert max(after for after, _ in smaller) < 0.9 * max(weights for _, weights in smaller)


def test_another_name_for_the_base_model_is_read(tmp_path: Path) -> None:
    """Qwen's class for spans calls its base model `transformer`; the other classes call it `model`."""
    from transformers import AutoModelForQuestionAnswering

    write_model("qwen2", tmp_path)
    expected = loaded(tmp_path)
    AutoModelForQuestionAnswering.from_pretrained(tmp_path).save_pretrained(tmp_path)
    encoder = loaded(tmp_path)
    assert encoder.notes == ("left out: weights of another task's head (qa_outputs.bias, qa_outputs.weight)",)
    weights = encoder.state_dict()
    assert all(torch.equal(weight, weights[name]) for name, weight in expected.state_dict().items())
