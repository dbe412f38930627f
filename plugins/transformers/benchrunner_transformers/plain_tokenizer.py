"""The fast tokenizer of a folder, with results in flat arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from benchrunner import CheckpointError, read_json_object
from benchrunner.engine import Frame, Pieces, Sequences


class PlainTokenizer:
    """Tokenizer of tokenizer.json with its own special tokens."""

    def __init__(self, tokenizer: Tokenizer, max_length: int) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer, self.max_length = tokenizer, max_length
        self.fingerprint = hashlib.sha256(tokenizer.to_str().encode()).hexdigest()

    @classmethod
    def read(cls, folder: Path) -> PlainTokenizer:
        path, settings = folder / "tokenizer.json", folder / "tokenizer_config.json"
        if not path.is_file():
            raise CheckpointError(f"{folder}: there is no tokenizer.json.")
        options = read_json_object(settings, error=CheckpointError) if settings.is_file() else {}
        limit = options.get("model_max_length", 512)
        return cls(Tokenizer.from_file(str(path)), int(limit) if limit < 1_000_000 else 512)

    @property
    def size(self) -> int:
        return 1 + int(max(self._tokenizer.get_vocab(with_added_tokens=True).values()))

    def save(self, folder: Path) -> None:
        self._tokenizer.no_truncation()
        self._tokenizer.save(str(folder / "tokenizer.json"))

    @property
    def frame(self) -> Frame:
        alone, pair = self._tokenizer.encode("a").ids, self._tokenizer.encode("a", "a").ids
        text = self._tokenizer.encode("a", add_special_tokens=False).ids
        before, size = alone.index(text[0]), len(text)
        after = alone[before + size :]
        between = pair[before + size : len(pair) - len(after) - size]
        return Frame(tuple(alone[:before]), tuple(between), tuple(after), unknown=0)

    def pieces(self, texts: Sequence[str]) -> Pieces:
        self._tokenizer.no_truncation()
        encodings = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        tokens = np.fromiter(chain.from_iterable(encoding.ids for encoding in encodings), dtype=np.int32)
        offsets = chain.from_iterable(chain.from_iterable(encoding.offsets for encoding in encodings))
        spans = np.fromiter(offsets, dtype=np.int32).reshape(-1, 2)
        return Pieces(tokens, spans, np.concatenate([[0], np.cumsum([len(e) for e in encodings], dtype=np.int64)]))

    def assemble(self, first: Sequence[str], second: Sequence[str] | None, max_length: int) -> Sequences:
        self._tokenizer.enable_truncation(max_length, strategy="longest_first")
        encodings = self._tokenizer.encode_batch(list(first if second is None else zip(first, second, strict=True)))
        tokens = np.fromiter(chain.from_iterable(encoding.ids for encoding in encodings), dtype=np.int32)
        segments = np.fromiter(chain.from_iterable(encoding.type_ids for encoding in encodings), dtype=np.int8)
        starts = np.concatenate([[0], np.cumsum([len(encoding) for encoding in encodings], dtype=np.int64)])
        return Sequences(tokens, segments, starts)
