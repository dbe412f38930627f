"""Texts to tokenize, and pairs of our tokenizer and that of transformers, read from one folder."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tiny_tokenizers import KINDS, TEXTS, write_tokenizer

from benchrunner_transformers.checkpoint.tokenizer import HubTokenizer

NAMES = (*KINDS, "bert cased")
"""What `read_both` reads: a model type, and "cased" for WordPiece with capital letters."""
ODD_TEXTS = [
    "",
    " ",
    "\t\n",
    "  two  spaces  ",
    "Zażółć gęślą jaźń; café, naïve, Ångström, İstanbul, ß, ﬁ, Ⅷ.",
    "你好,世界!这是 BERT。日本語テキスト 한국어",
    "𠜎𠜱 😀 👩‍👩‍👧 🇩🇪",
    "[CLS] a [SEP] b [MASK] [PAD] [UNK] </s> <s> <mask> <cls> <sep> <|endoftext|>",
    "a [MASK]b <mask>c",
    "##ing ing ##s un##believable ▁under Ġg",
    "$1,234.56 -- it's 'quoted' \"twice\" (and) so-on... #tag @name e-mail@host.org",
    "x" * 101,
    "antidisestablishmentarianism" * 9,
    "zero\u200bwidth soft\u00adhyphen null\x00byte bell\x07 nbsp\u00a0 line\u2028separator \ufeffbom \ufffd",
    "Русский текст, Ελληνικά, עברית, العربية, ไทย, हिन्दी",
    "e\u0301 a\u0308 combining",
    "line\r\nbreaks\n\n\n and\ttabs",
    "``quotes'' and 5 ½ ² ™",
]


def drawn_texts(count: int, seed: int) -> list[str]:
    """Return the odd texts and texts of random words, of one to twenty words."""
    source = random.Random(seed)
    words = [word for text in [*TEXTS, *ODD_TEXTS] for word in text.split(" ")]
    drawn = [" ".join(source.choices(words, k=source.randint(1, 20))) for _ in range(count - len(ODD_TEXTS))]
    texts = [*ODD_TEXTS, *drawn]
    source.shuffle(texts)
    return texts


def write_samples(name: str, folder: Path) -> None:
    """Write a small tokenizer and a configuration with its model type."""
    model_type = name.split()[0]
    write_tokenizer(model_type, folder, lowercase="cased" not in name)
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}), encoding="utf-8")


def read_both(name: str, folder: Path) -> tuple[HubTokenizer, Any]:
    """Write a small tokenizer; read it with our class and with that of transformers."""
    from transformers import AutoTokenizer

    write_samples(name, folder)
    return read_ours(folder), AutoTokenizer.from_pretrained(folder)


def read_ours(folder: Path) -> HubTokenizer:
    """Read the tokenizer of a folder with the configuration beside it."""
    from transformers import AutoConfig

    return HubTokenizer.read(folder, AutoConfig.from_pretrained(folder))
