"""A tiny random model of any architecture of the library: its default configuration with small sizes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tiny_models import SETTINGS, save_random, special_tokens
from tiny_tokenizers import KINDS, write_tokenizer

_SIZES = {
    4: "num_experts num_local_experts n_routed_experts moe_num_experts num_routed_experts",
    1: "n_group topk_group moe_num_shared_experts n_shared_experts num_shared_experts",
    2: "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_encoder_layers "
    "num_decoder_layers num_blocks num_attention_heads n_head n_heads num_heads encoder_attention_heads "
    "decoder_attention_heads num_encoder_attention_heads num_decoder_attention_heads num_key_value_heads num_kv_heads "
    "num_experts_per_tok num_experts_per_token moe_k moe_topk moe_top_k top_k_experts",
    8: "head_dim d_kv d_head attention_head_size attention_head_dim kv_channels global_head_dim q_lora_rank "
    "kv_lora_rank qk_rope_head_dim qk_nope_head_dim v_head_dim patch_size",
    16: "hidden_size d_model n_embd emb_dim dim word_embed_proj_dim embedding_size input_embedding_size "
    "output_embedding_size d_embed intra_bottleneck_size true_hidden_size entity_emb_size embedding_dim "
    "attention_hidden_size projection_dim",
    32: "intermediate_size d_ff encoder_ffn_dim decoder_ffn_dim hidden_dim ffn_dim d_inner n_inner ffn_hidden_size "
    "dim_ff moe_intermediate_size shared_expert_intermediate_size ffn_intermediate_size expert_ffn_hidden_size "
    "moe_ffn_hidden_size mlp_intermediate_size shared_intermediate_size intermediate_size_mlp block_ff_dim image_size",
    128: "max_position_embeddings n_positions max_source_positions max_target_positions seq_length max_seq_len n_ctx "
    "context_length max_encoder_position_embeddings max_decoder_position_embeddings max_sequence_length",
}
"""Size -> settings that are reduced to it, if they are larger by default."""
_TOKENIZERS = {
    "BartTokenizer": "bart",
    "LEDTokenizer": "bart",
    "LukeTokenizer": "roberta",
    "MBartTokenizer": "xlm-roberta",
    "MvpTokenizer": "bart",
    "PegasusTokenizer": "t5",
    "RemBertTokenizer": "albert",
}
"""Class of the library -> a model type whose tokenizer is of the same kind, where the class has no tokenizer here."""
_OWN_TOKENIZERS = {
    "AlbertTokenizer": "albert",
    "BertTokenizer": "bert",
    "GPT2Tokenizer": "gpt2",
    "GPTNeoXTokenizer": "gpt_neox",
    "Qwen2Tokenizer": "qwen2",
    "RobertaTokenizer": "roberta",
    "T5Tokenizer": "t5",
    "XLMRobertaTokenizer": "xlm-roberta",
}
"""Class of the library -> a model type with this class."""
_ROBERTA_LIKE = ("data2vec-text", "esm", "ibert", "lilt", "luke", "markuplm", "mra", "roberta-prelayernorm", "xmod")
_ROBERTA_LIKE += ("jina_embeddings_v3", "xlm-roberta-xl")
_ONE_SEGMENT = {"max_position_embeddings": 130, "type_vocab_size": 1}
_CHANGES: Mapping[str, Mapping[str, Any]] = {
    "codegen": {"n_head": 4, "n_embd": 32, "rotary_dim": 4},
    "esm": {"position_embedding_type": "rotary"},
    "fsmt": {"langs": ["en", "de"], "src_vocab_size": 600, "tgt_vocab_size": 600},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "num_layers": 2, "window_size": 8},
    "gptj": {"rotary_dim": 4},
    "jamba": {"num_hidden_layers": 4, "attn_layer_period": 2, "attn_layer_offset": 1},
    "led": {"attention_window": [8, 8]},
    "luke": {"entity_vocab_size": 5, "entity_emb_size": 8},
    "marian": {"decoder_start_token_id": 2},
    "mobilebert": {"intra_bottleneck_size": 16},
    "nystromformer": {"max_position_embeddings": 510},
    "squeezebert": {"q_groups": 1, "k_groups": 1, "v_groups": 1},
    "xmod": {"languages": ["en_XX"], "default_language": "en_XX"},
}
"""Model type -> settings that belong together, so that the small sizes alone do not make a model."""


def write_any_model(model_type: str, folder: Path) -> None:
    """Write a random model of a model type and a tokenizer that fits to it."""
    from transformers import CONFIG_MAPPING

    tokenizer, class_name = _tokenizer(model_type)
    vocabulary = write_tokenizer(tokenizer, folder)
    special = special_tokens(folder)
    if class_name:
        _rename_tokenizer(folder / "tokenizer_config.json", class_name)
    config_class = CONFIG_MAPPING[model_type]
    small = _small(config_class().to_dict(), {**special, "vocab_size": vocabulary})
    likeness = _ONE_SEGMENT if model_type in _ROBERTA_LIKE else {}
    changes = {**likeness, **SETTINGS.get(model_type, {}), **_CHANGES.get(model_type, {})}
    save_random(config_class(**{**small, **special, "vocab_size": vocabulary, **changes}), folder)


def _tokenizer(model_type: str) -> tuple[str, str]:
    """Return the model type whose tokenizer is written, and the class to name in its settings; empty for its own."""
    from transformers.models.auto import modeling_auto
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

    if model_type in KINDS:
        return model_type, ""
    name = TOKENIZER_MAPPING_NAMES.get(model_type) or ""
    if name in _OWN_TOKENIZERS:
        return _OWN_TOKENIZERS[name], ""
    kind = _TOKENIZERS.get(name, "roberta" if model_type in _ROBERTA_LIKE else "t5" if "t5" in model_type else "")
    decodes = model_type in modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES
    generates = model_type in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    masked = model_type in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    otherwise = "bart" if decodes else "gpt2" if generates and not masked else "bert"
    return kind or otherwise, "PreTrainedTokenizerFast"


def _rename_tokenizer(path: Path, class_name: str) -> None:
    """Name another class in the settings of a tokenizer, with the special tokens that its own class knew."""
    settings = json.loads(path.read_text(encoding="utf-8"))
    tokens = special_tokens(path.parent, names=True)
    path.write_text(json.dumps({**tokens, **settings, "tokenizer_class": class_name}), encoding="utf-8")


def _small(settings: Mapping[str, Any], tokens: Mapping[str, Any]) -> dict[str, Any]:
    """Reduce all sizes, also those of the configurations of parts; leave out all other settings."""
    sizes = {name: size for size, names in _SIZES.items() for name in names.split()}
    small = dict[str, Any]()
    for name, value in settings.items():
        if isinstance(value, dict) and "model_type" in value:
            small[name] = {"model_type": value["model_type"], **_small(value, tokens)}
        elif name in sizes and isinstance(value, int) and value > 0:
            small[name] = min(value, sizes[name])
        elif name in tokens:
            small[name] = tokens[name]
    return small
