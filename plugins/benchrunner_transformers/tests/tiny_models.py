"""Tiny random models of every family's real architecture, written in the hub's layout with their tokenizers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from tiny_tokenizers import write_tokenizer
from tokenizers import Tokenizer

from benchrunner import Workspace
from benchrunner.engine import Backbone
from benchrunner_transformers.backbones import TransformersFamily
from benchrunner_transformers.model.encoder import HubEncoder

_BERT_LIKE = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 128,
}
_ROBERTA_LIKE = {**_BERT_LIKE, "max_position_embeddings": 130, "type_vocab_size": 1}
_LEFT_TO_RIGHT = {**_BERT_LIKE, "num_key_value_heads": 1, "head_dim": 8}
_SPECIAL = {
    "pad_token_id": ("<pad>", "[PAD]", "<|padding|>", "<|pad|>", "<|endoftext|>", "<unk>"),
    "bos_token_id": ("<s>", "[CLS]", "<cls>", "<|begin_of_text|>", "<|endoftext|>", "<unk>"),
    "eos_token_id": ("</s>", "[SEP]", "<sep>", "<|end_of_text|>", "<|endoftext|>", "<unk>"),
    "cls_token_id": ("<s>", "[CLS]", "<cls>", "<|begin_of_text|>"),
    "mask_token_id": ("<mask>", "[MASK]", "<|mask|>"),
    "sep_token_id": ("</s>", "[SEP]", "<sep>", "<|end_of_text|>"),
}
"""Settings of special tokens -> the tokens that they may be, of which the first in the vocabulary is taken."""
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "albert": {**_BERT_LIKE, "embedding_size": 8},
    "bart": {
        "d_model": 16,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 32,
        "decoder_ffn_dim": 32,
        "max_position_embeddings": 128,
        "decoder_start_token_id": 2,
    },
    "bert": _BERT_LIKE,
    "big_bird": {**_BERT_LIKE, "max_position_embeddings": 256, "block_size": 16, "num_random_blocks": 2},
    "camembert": _ROBERTA_LIKE,
    "deberta": {**_BERT_LIKE, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "type_vocab_size": 0},
    "deberta-v2": {
        **_BERT_LIKE,
        "relative_attention": True,
        "position_buckets": 16,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_biased_input": False,
        "type_vocab_size": 0,
        "max_relative_positions": -1,
    },
    "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "max_position_embeddings": 128},
    "electra": {**_BERT_LIKE, "embedding_size": 8},
    "eurobert": {**_LEFT_TO_RIGHT, "num_key_value_heads": 2},
    "fnet": {**_BERT_LIKE, "type_vocab_size": 4},
    "funnel": {
        "architectures": ["FunnelModel"],
        "block_sizes": [1, 1],
        "d_model": 16,
        "n_head": 2,
        "d_head": 8,
        "d_inner": 32,
    },
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 128},
    "gpt_neox": {**_BERT_LIKE, "rotary_pct": 0.25},
    "longformer": {**_ROBERTA_LIKE, "attention_window": [8, 8]},
    "modernbert": {**_BERT_LIKE, "num_hidden_layers": 3, "local_attention": 8, "max_position_embeddings": 128},
    "mpnet": _ROBERTA_LIKE,
    "openai-gpt": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 128},
    "qwen2": _LEFT_TO_RIGHT,
    "qwen3": _LEFT_TO_RIGHT,
    "roberta": _ROBERTA_LIKE,
    "t5": {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "relative_attention_num_buckets": 8},
    "xlm-roberta": _ROBERTA_LIKE,
    "xlnet": {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 32},
}
"""Model type -> settings of a tiny model."""


def write_model(model_type: str, folder: Path, *, seed: int = 0, **changes: Any) -> Any:
    """Write a random model and its tokenizer to a folder; return the model. `changes` replace settings.

    Weights are drawn with the deviation 0.2, ten times the usual one, so that every part of the model matters.
    """
    from transformers import AutoConfig

    vocabulary = write_tokenizer(model_type, folder)
    settings = {**special_tokens(folder), "vocab_size": vocabulary, **SETTINGS[model_type], **changes}
    return save_random(AutoConfig.for_model(model_type, **settings), folder, seed=seed)


def backbone_of(folder: Path, suffix: str = "") -> Backbone:
    """Find a model in this plugin, also a BERT; the suffix `:encoder` asks for the encoder alone."""
    backbone = TransformersFamily().find(f"{folder}{suffix}", Workspace(folder, folder))
    assert backbone is not None
    return backbone


def loaded(folder: Path, suffix: str = "") -> HubEncoder:
    encoder = backbone_of(folder, suffix).load(Workspace(folder, folder), seed=0).eval()
    assert isinstance(encoder, HubEncoder)
    return encoder


def special_tokens(folder: Path, *, names: bool = False) -> dict[str, Any]:
    """Return the settings of special tokens for the tokenizer in a folder: their ids, or their names."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = {key: _first_id(tokenizer, tokens) for key, tokens in _SPECIAL.items()}
    if names:
        return {
            key.removesuffix("_id"): tokenizer.id_to_token(number) for key, number in ids.items() if number is not None
        }
    return {key: number for key, number in ids.items() if number is not None}


def save_random(config: Any, folder: Path, *, seed: int = 0) -> Any:
    """Write a random model of a configuration to a folder; return the model."""
    from transformers import AutoModel

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AutoModel.from_config(config, dtype=torch.float32)
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight), alpha=0.2)
    for module in model.modules():  # the row of the padding stays zero, as in every pre-trained model
        if isinstance(module, torch.nn.Embedding) and module.padding_idx is not None:
            module.weight.data[module.padding_idx] = 0
    model.save_pretrained(folder)
    return model.eval()


def _first_id(tokenizer: Tokenizer, tokens: tuple[str, ...]) -> int | None:
    return next((number for token in tokens if (number := tokenizer.token_to_id(token)) is not None), None)
