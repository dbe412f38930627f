"""Models of transformers on flat batches, against their own eager attention on padded batches."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import torch
from tiny_models import SETTINGS

from benchrunner.engine import Dropout, Features, FlatBatch, collate
from benchrunner_transformers.checkpoint.habits import takes_segments
from benchrunner_transformers.model import disentangled
from benchrunner_transformers.model.flat_attention import (
    Sight,
    UnreadableError,
    _mask,
    flat_states,
    last_flat_state,
    reads_flat,
)

VOCABULARY, LONGEST, PADDING = 60, 64, 3
SIZES: Mapping[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": LONGEST,
    "initializer_range": 0.3,  # attention that differs much between tokens
    "pad_token_id": PADDING,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
FLAT: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "bert": ("bert", {}),
    "bert that looks left": ("bert", {"is_decoder": True}),
    "roberta": ("roberta", {"type_vocab_size": 1}),
    "electra": ("electra", {"embedding_size": 16}),
    "albert": ("albert", {"embedding_size": 16, "num_hidden_groups": 1}),
    "distilbert": ("distilbert", {"dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 48}),
    "modernbert": ("modernbert", {"local_attention": 4, "global_attn_every_n_layers": 2}),
    "eurobert": ("eurobert", {"num_key_value_heads": 2}),
    "deberta-v3": ("deberta-v2", {**SETTINGS["deberta-v2"], **SIZES, "position_buckets": 8}),
    "deberta-v2 with tables of its own": (
        "deberta-v2",
        {"relative_attention": True, "max_relative_positions": 6, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 2},
    ),
    "gpt2": ("gpt2", {"scale_attn_by_inverse_layer_idx": True}),
    "gpt_neox": ("gpt_neox", {}),
    "qwen2": ("qwen2", {"num_key_value_heads": 2}),
    "qwen3 with windows": (
        "qwen3",
        {
            "num_key_value_heads": 2,
            "head_dim": 8,
            "use_sliding_window": True,
            "sliding_window": 3,
            "max_window_layers": 1,
        },
    ),
    "mistral": ("mistral", {"num_key_value_heads": 2, "sliding_window": 3}),
}
"""Models that read flat batches: name -> their `model_type`, and settings beside SIZES."""
PADDED: Mapping[str, Mapping[str, Any]] = {
    "mpnet": {},  # adds a relative position to the scores of attention
    "openai-gpt": {},
    "deberta": {},
    "deberta-v2": {},  # without relative attention
    "fnet": {},
    "t5": {},
    "mobilebert": {},  # every token reads the embeddings of its neighbours
    "gemma2": {"num_key_value_heads": 2, "head_dim": 8},  # limits the scores of attention (softcap)
}
"""Models that need padding: `model_type` -> settings beside SIZES."""
DROPPING = ("bert", "albert", "distilbert", "modernbert", "eurobert", "gpt2", "gpt_neox", "qwen3 with windows")
RATES = ("attention_dropout", "attention_probs_dropout_prob", "attn_pdrop")


def model_of(model_type: str, settings: Mapping[str, Any], **more: Any) -> Any:
    from transformers import CONFIG_MAPPING, AutoModel

    torch.manual_seed(0)
    return AutoModel.from_config(CONFIG_MAPPING[model_type](**{**SIZES, **settings, **more})).eval()


def named(name: str, **more: Any) -> Any:
    model_type, settings = FLAT[name]
    return model_of(model_type, settings, **more)


def batch_of(lengths: tuple[int, ...] = (1, 7, 12, 2, 7, 1, 30), dropout: Dropout | None = None) -> FlatBatch:
    """Make a batch of random tokens, none of them padding, whose last tokens are filling."""
    source, total = np.random.default_rng(0), sum(lengths)
    tokens = source.integers(PADDING + 1, VOCABULARY, total).astype(np.int32)
    segments = source.integers(0, 2, total).astype(np.int8)
    units = np.arange(len(lengths) + 1)
    features = Features(tokens, segments, np.cumsum([0, *lengths]), units, units[:-1], {})
    return collate(features, units[:-1], torch.device("cpu"), dropout=dropout, multiple=8)


def padded_states(model: Any, batch: FlatBatch) -> tuple[torch.Tensor, ...]:
    """Compute all states with the library's eager attention on a padded batch; return those of the real tokens."""
    lengths = batch.starts.diff().long()
    mask = torch.arange(batch.longest) < lengths[:, None]
    tokens, segments = torch.full(mask.shape, PADDING), torch.zeros(mask.shape, dtype=torch.long)
    tokens[mask], segments[mask] = batch.tokens[: batch.real], batch.segments[: batch.real]
    model.set_attn_implementation("eager")
    more = {"token_type_ids": segments} if takes_segments(model) else {}
    outputs = model(input_ids=tokens, attention_mask=mask.long(), output_hidden_states=True, **more)
    return tuple(state[mask] for state in outputs.hidden_states)


def gradients(model: Any, states: tuple[torch.Tensor, ...], batch: FlatBatch) -> dict[str, torch.Tensor]:
    """Compute the gradient of every weight for a weighted sum of the real tokens' states."""
    total = sum((state[: batch.real] * torch.linspace(-1, 1, state.shape[1])).mean() for state in states)
    model.zero_grad()
    assert isinstance(total, torch.Tensor)
    total.backward()
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


def check(model: Any, states: tuple[torch.Tensor, ...], expected: tuple[torch.Tensor, ...], batch: FlatBatch) -> None:
    """Compare the states of the real tokens, and the gradients of all weights."""
    for state, row in zip(states, expected, strict=True):
        row = row[: batch.real]
        scale = max(1.0, row.abs().max().item())
        torch.testing.assert_close(state[: batch.real], row, rtol=1e-5, atol=1e-5 * scale)
    expected_gradients, actual = gradients(model, expected, batch), gradients(model, states, batch)
    assert actual.keys() == expected_gradients.keys()
    for weight, reference in expected_gradients.items():
        largest = float(reference.abs().max() + 1e-3)
        torch.testing.assert_close(actual[weight], reference, rtol=1e-4, atol=1e-4 * largest)


@pytest.mark.parametrize("name", FLAT)
def test_flat_states_and_gradients_equal_padded_ones(name: str) -> None:
    model, batch = named(name), batch_of()
    assert reads_flat(model)
    expected = padded_states(model, batch)
    states = flat_states(model, batch)
    assert len(states) == 4
    check(model, states, expected, batch)
    assert torch.equal(last_flat_state(model, batch), states[-1])


@pytest.mark.parametrize("name", ["deberta-v3", "deberta-v2 with tables of its own"])
def test_attention_by_distance_at_once_equals_that_in_buckets(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = named(name), batch_of()
    expected = flat_states(model, batch)
    table = disentangled.distance_table(64, *settings_of(model), torch.device("cpu"))
    at_once = disentangled.Distances(batch, (disentangled.AllSequences(batch),), table)
    monkeypatch.setattr(disentangled.Distances, "of", lambda *_: at_once)
    check(model, flat_states(model, batch), expected, batch)


def settings_of(model: Any) -> tuple[int, int, int]:
    """Return the settings that a table of distances depends on."""
    attention = model.encoder.layer[0].attention.self
    return attention.pos_ebd_size, attention.position_buckets, attention.max_relative_positions


class ByDistance:
    """Kernels that compute attention with distances in torch's own operators, or leave it to torch."""

    name = "plain"
    operators = ("attend_by_distance",)
    notes = ()

    def __init__(self, *, computes: bool = True) -> None:
        self.computes = computes
        self.drawn: list[tuple[float, int]] = []

    def attend_by_distance(
        self,
        qkv: torch.Tensor,
        starts: torch.Tensor,
        of_keys: torch.Tensor | None,
        of_queries: torch.Tensor | None,
        scale: float,
        rate: float,
        seed: int,
    ) -> torch.Tensor | None:
        self.drawn.append((rate, seed))
        outputs = []
        for start, stop in itertools.pairwise(starts.tolist()):
            query, key, value = qkv[start:stop].permute(1, 2, 0, 3)
            scores = query @ key.transpose(1, 2)
            for table, states, which in ((of_keys, query, "hid,ijhd->hij"), (of_queries, key, "hjd,ijhd->hij")):
                if table is not None:
                    places = torch.arange(stop - start)
                    rows = table[places[None] - places[:, None] + (len(table) - 1) // 2]
                    scores = scores + torch.einsum(which, states, rows)
            outputs.append(((scores * scale).softmax(-1) @ value).transpose(0, 1))
        filling = qkv.new_zeros(len(qkv) - int(starts[-1]), *qkv.shape[2:])
        return torch.cat([*outputs, filling]) if self.computes else None


@pytest.mark.parametrize("computes", [True, False])
@pytest.mark.parametrize("name", ["deberta-v3", "deberta-v2 with tables of its own"])
def test_kernels_compute_attention_with_distances(name: str, computes: bool) -> None:
    model, batch, kernels = named(name), batch_of(), ByDistance(computes=computes)
    states = flat_states(model, replace(batch, kernels=cast(Any, kernels)))
    assert kernels.drawn == [(0.0, 0)] * 3
    check(model, states, flat_states(model, batch), batch)


def test_each_layer_has_a_mask_of_its_own_in_kernels() -> None:
    model, kernels = named("deberta-v3", attention_probs_dropout_prob=0.3).train(), ByDistance()
    batch = replace(batch_of(dropout=Dropout(3, 1)), kernels=cast(Any, kernels))
    trained(model, batch, 1)
    assert len(set(kernels.drawn)) == 3 and {rate for rate, _ in kernels.drawn} == {0.3}
    first = kernels.drawn.copy()
    trained(model, batch, 1)
    assert kernels.drawn[3:] == first


@pytest.mark.parametrize("model_type", PADDED)
def test_other_models_are_left_to_padding(model_type: str) -> None:
    assert not reads_flat(model_of(model_type, PADDED[model_type]))


def test_padding_inside_a_text_has_no_position_in_roberta() -> None:
    model, batch = named("roberta").eval(), batch_of()
    batch.tokens[[4, 5, 20]] = PADDING
    for state, row in zip(flat_states(model, batch), padded_states(model, batch), strict=True):
        torch.testing.assert_close(state[: batch.real], row, rtol=1e-5, atol=1e-5)


def dropping(name: str, rate: float) -> Any:
    """Make a model with dropout in its attention only."""
    more = dict.fromkeys(("hidden_dropout_prob", "resid_pdrop", "embd_pdrop", "hidden_dropout", "dropout"), 0.0)
    return named(name, **more, **dict.fromkeys(RATES, rate)).train()


def trained(model: Any, batch: FlatBatch, seed: int) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        state = last_flat_state(model, batch)
    return state, gradients(model, (state,), batch)


@pytest.mark.parametrize("name", DROPPING)
def test_dropout_of_attention_depends_on_the_seed_only(name: str) -> None:
    batch = batch_of(dropout=Dropout(3, 1))
    model = dropping(name, 0.3)
    (first, gradient), (second, again), (third, _) = (trained(model, batch, seed) for seed in (1, 1, 2))
    assert torch.equal(first, second)
    assert all(torch.equal(gradient[weight], again[weight]) for weight in gradient)
    assert not torch.allclose(first, third)
    whole = last_flat_state(dropping(name, 0.0), batch)
    assert not torch.allclose(first, whole)


def test_layers_that_share_weights_drop_different_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    sites: list[str] = []
    batch = batch_of(dropout=Dropout(3, 1))
    monkeypatch.setattr(
        Dropout, "mask", lambda self, shape, rate, site, like: sites.append(site) or like.new_ones(shape)
    )
    last_flat_state(dropping("albert", 0.3), batch)
    assert len(sites) == len(set(sites)) == 3


def test_masks_are_read_as_direction_and_window() -> None:
    from transformers.masking_utils import (
        and_masks,
        bidirectional_mask_function,
        causal_mask_function,
        chunked_causal_mask_function,
        sliding_window_bidirectional_mask_function,
        sliding_window_causal_mask_function,
    )

    assert _mask(9, bidirectional_mask_function) == Sight("both", None)
    assert _mask(9, causal_mask_function) == Sight("left-to-right", None)
    assert _mask(9, sliding_window_bidirectional_mask_function(2)) == Sight("both", 2)
    assert _mask(9, sliding_window_bidirectional_mask_function(8)) == Sight("both", None)
    assert _mask(9, sliding_window_causal_mask_function(3)) == Sight("left-to-right", 2)
    assert _mask(1, causal_mask_function) == Sight("both", None)
    with pytest.raises(UnreadableError, match="no window of neighbours"):
        _mask(9, chunked_causal_mask_function(3, torch.zeros(1, dtype=torch.long)))
    with pytest.raises(UnreadableError, match="equally wide"):
        _mask(9, and_masks(bidirectional_mask_function, lambda batch, head, row, column: column <= row + 1))
    with pytest.raises(UnreadableError, match="ways of its own"):
        _mask(9, causal_mask_function, use_vmap=True)
