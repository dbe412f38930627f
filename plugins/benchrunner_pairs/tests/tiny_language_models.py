"""Random tiny language models with heads, of the library's own classes, and the likelihoods that these give."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

TEXTS = ("the captain saw himself in the old mirror", "nobody knows how long they were waiting there")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SHAPE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
MASKED: Mapping[str, Mapping[str, Any]] = {
    "bert": SHAPE,
    "roberta": {**SHAPE, "type_vocab_size": 1, "max_position_embeddings": 66},
    "modernbert": {**SHAPE, "local_attention": 8},
    "deberta-v2": {**SHAPE, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0},
    "electra": {**SHAPE, "embedding_size": 8},
    "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32},
    "albert": {**SHAPE, "embedding_size": 8},
}
OTHERS: Mapping[str, Mapping[str, Any]] = {
    "bart": {
        "d_model": 16,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 32,
        "decoder_ffn_dim": 32,
    }
}
CAUSAL: Mapping[str, Mapping[str, Any]] = {
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 2},
    "qwen2": {**SHAPE, "num_key_value_heads": 2},
    "bert": {**SHAPE, "is_decoder": True, "attention_direction": "left-to-right"},
}
"""Model type -> settings; the last is what `pretrain --objective ltr` writes."""
CLASSES = {"bert": "BertTokenizer", "electra": "ElectraTokenizer", "distilbert": "DistilBertTokenizer"}


def write_model(kind: str, folder: Path, *, causal: bool = False) -> None:
    """Write a model with its head and its tokenizer, in the hub's layout."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM

    tokenizer = _wordpiece() if kind in CLASSES else _bytes(special=not causal)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    named = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    settings = dict(zip(named, SPECIAL, strict=True)) if not causal or kind == "bert" else {"eos_token": "[UNK]"}
    settings["tokenizer_class"] = CLASSES.get(kind, "PreTrainedTokenizerFast")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    ids = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
    shape = (CAUSAL if causal else MASKED | OTHERS)[kind]
    # Two more than needed: the library's class of some tokenizers adds tokens.
    config = AutoConfig.for_model(kind, vocab_size=tokenizer.get_vocab_size() + 2, **{**ids, **shape})
    of_config = AutoModelForCausalLM if causal else AutoModelForMaskedLM
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = of_config.from_config(config, dtype=torch.float32)
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight), alpha=0.2)
    model.save_pretrained(folder)


def _wordpiece() -> Tokenizer:
    """Make a WordPiece tokenizer whose words have several pieces: letters, and some pairs of letters."""
    letters = [chr(ord("a") + number) for number in range(26)]
    pieces = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters), "the", "##re", "##ir", "hi", "##ms", ".", "'"]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def _bytes(*, special: bool) -> Tokenizer:
    """Make a BPE tokenizer of bytes with few merges."""
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=290, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    if special:
        tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


@functools.lru_cache(maxsize=1)
def _read(folder: Path, auto: str) -> tuple[Any, Any]:
    """Read a tokenizer and a model with the library's own class, once for all texts of a test."""
    import transformers

    model = getattr(transformers, auto).from_pretrained(folder, dtype=torch.float32)
    return transformers.AutoTokenizer.from_pretrained(folder), model.eval()


@torch.no_grad()
def pseudo_log_likelihood(folder: Path, text: str, *, within_word: bool, begin: int = 0) -> float:
    """Score a text by the definition: one forward pass of the library's own model for each token, one after another.

    Words are those of the library's tokenizer. Only tokens that end after the character `begin` are scored.
    """
    tokenizer, model = _read(folder, "AutoModelForMaskedLM")
    encoded = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    spans = encoded.pop("offset_mapping")[0].tolist()
    words = encoded.word_ids()
    total = 0.0
    for place, word in enumerate(words):
        if word is None or spans[place][1] <= begin:
            continue
        ids = encoded["input_ids"].clone()
        ids[0, place] = tokenizer.mask_token_id
        for later in range(place + 1, len(words)):
            if within_word and words[later] == word:
                ids[0, later] = tokenizer.mask_token_id
        logits = model(**{**encoded, "input_ids": ids}).logits[0, place]
        total += float(logits.double().log_softmax(-1)[encoded["input_ids"][0, place]])
    return total


@torch.no_grad()
def log_likelihood(folder: Path, text: str) -> float:
    """Score a text with the library's causal model: every token of it that has tokens before it, given those."""
    tokenizer, model = _read(folder, "AutoModelForCausalLM")
    encoded = tokenizer(text, return_tensors="pt")
    ids = encoded["input_ids"]
    logits = model(input_ids=ids).logits[0]
    total = 0.0
    for place, word in enumerate(encoded.word_ids()):
        if word is not None and place > 0:
            total += float(logits[place - 1].double().log_softmax(-1)[ids[0, place]])
    return total
