"""Corpora whose every token is another word, so that a token says where it stood."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchrunner_bert.pretraining.corpus import store_writer
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.sources import TextFile
from benchrunner_bert.pretraining.corpus.token_store import TokenStore
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
UNK, CLS, SEP, MASK, FIRST = 1, 2, 3, 4, 5

Documents = Sequence[Sequence[int]]
"""The tokens of each sentence of each document."""


def numbered(folder: Path, documents: Documents, **options: Any) -> TokenStore:
    """The store of a text in which token number i of the corpus is FIRST + i."""
    folder.mkdir(parents=True, exist_ok=True)
    lines, at = list[str](), 0
    for document in documents:
        for length in document:
            lines.append(" ".join(f"x{number}" for number in range(at, at + length)))
            at += length
        lines.append("")
    text = folder / "corpus.txt"
    text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    words = vocabulary(folder / "words.txt", *(f"x{number}" for number in range(at)))
    return store_writer.write(folder / "store", Corpus((TextFile(text, text.name),)), words, **options)


def vocabulary(path: Path, *pieces: str) -> Vocabulary:
    path.write_text("".join(f"{piece}\n" for piece in [*SPECIAL, *pieces]), encoding="utf-8")
    return Vocabulary.read(path)
