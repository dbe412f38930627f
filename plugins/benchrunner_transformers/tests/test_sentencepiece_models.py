"""Folders whose tokenizer is a sentencepiece model alone, without tokenizer.json, as older checkpoints have it."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tiny_tokenizers import TEXTS
from tokenizer_samples import drawn_texts, read_ours

sentencepiece = pytest.importorskip("sentencepiece")

_ALBERT = {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": ["[CLS]", "[SEP]", "[MASK]"]}
_DEBERTA = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3, "pad_piece": "[PAD]", "bos_piece": "[CLS]"}
_XLNET_SYMBOLS = ["<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"]
MODELS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "albert": ("spiece.model", _ALBERT),
    "camembert": ("sentencepiece.bpe.model", {}),
    "deberta-v2": ("spm.model", {**_DEBERTA, "eos_piece": "[SEP]", "unk_piece": "[UNK]"}),
    "t5": ("spiece.model", {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}),
    "xlm-roberta": ("sentencepiece.bpe.model", {}),
    "xlnet": ("spiece.model", {"unk_id": 0, "bos_id": 1, "eos_id": 2, "control_symbols": _XLNET_SYMBOLS}),
}
"""Model type -> name of the file, and the special tokens of the published sentencepiece models."""
FIRST = drawn_texts(200, seed=3)


def train(model_type: str, folder: Path) -> Any:
    """Train a small sentencepiece model and write it with a configuration; return sentencepiece's own processor."""
    name, special = MODELS[model_type]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 3),
        model_writer=model,
        vocab_size=200,
        hard_vocab_limit=False,
        character_coverage=1.0,
        minloglevel=2,
        **special,
    )
    (folder / name).write_bytes(model.getvalue())
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}), encoding="utf-8")
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


@pytest.mark.parametrize("model_type", MODELS)
def test_pieces_are_those_of_sentencepiece(model_type: str, tmp_path: Path) -> None:
    """The independent reference has no conversion. ALBERT and XLNet change quotation marks, accents and case first."""
    from transformers import AutoTokenizer

    processor = train(model_type, tmp_path)
    names = AutoTokenizer.from_pretrained(tmp_path).convert_ids_to_tokens
    texts = [text.lower() for text in [*TEXTS, *FIRST] if text.isascii() and not set('`"[<\0\x07') & set(text)]
    pieces = read_ours(tmp_path).pieces(texts)
    unknown = processor.id_to_piece(processor.unk_id())
    for text, (start, end) in zip(texts, pairwise(pieces.starts.tolist()), strict=True):
        expected = [
            unknown if processor.is_unknown(piece) else processor.id_to_piece(piece) for piece in processor.encode(text)
        ]
        assert names(pieces.tokens[start:end].tolist()) == expected, text
    assert len(texts) > 30
