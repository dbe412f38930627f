"""Cache of a tokenizer's words: encodes texts by looking up their words, each of which is encoded once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, final

import numpy as np

from benchrunner.engine import Pieces, blocks
from benchrunner_checkpoints.tokens.spans import trimmed

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

CHUNK = 4096
"""Number of texts encoded at once: enough to keep all cores busy, few enough to limit the memory for token objects."""
MOST_WORDS = 1_000_000
"""Most words of a cache, some hundred megabytes; a cache that has more begins anew."""
MOST_CHARACTERS = 1 << 26
"""Most characters of all words of a cache together."""

_Encoded = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Tokens of some texts, int32 (tokens,), their number in each text, int64 (texts,), and their spans or no spans."""
_NO_SPANS = np.empty((0, 2), dtype=np.int32)


@final
class WordCache:
    """Encodes texts word by word, for tokenizers that never look past a blank.

    A text with the first character of a special token is encoded by the tokenizer as a whole. The result is always that
    of the tokenizer, in a fraction of the time: text repeats few different words.
    """

    _numbers: _WordNumbers
    _tokens: np.ndarray
    """int32: the tokens of all words, one word after another"""
    _counts: np.ndarray
    """int64 (words,): number of tokens of each word"""
    _starts: np.ndarray
    """int64 (words,): first token of each word"""
    _characters: int
    """Characters of all words."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Prepare a cache for a tokenizer of the library tokenizers.

        BERT's normalizer and pre-tokenizer cut texts at blanks. A tokenizer with others encodes every text as a whole.
        """
        self._tokenizer = tokenizer
        starts = {token.content[:1] for token in tokenizer.get_added_tokens_decoder().values()}
        is_right_normalizer = described_part(tokenizer.normalizer).get("type") == "BertNormalizer"
        is_right_pre_tokenizer = described_part(tokenizer.pre_tokenizer).get("type") == "BertPreTokenizer"
        is_plain = any(start.isalnum() or start.isspace() or not start for start in starts)
        self._looks_up = is_right_normalizer and is_right_pre_tokenizer and not is_plain
        any_start = "|".join(map(re.escape, sorted(starts)))
        self._special = re.compile(any_start or r"(?!)")
        self._clear()

    def tokens(self, texts: Sequence[str]) -> Pieces:
        """Encode whole texts without special tokens. The spans of the result are left empty."""
        return self._encoded(texts, self._chunk)

    def pieces(self, texts: Sequence[str]) -> Pieces:
        """Encode whole texts on all cores, without special tokens. Spans have no white space at their ends."""
        return self._encoded(texts, self._with_spans)

    def _encoded(self, texts: Sequence[str], encode: Callable[[Sequence[str]], _Encoded]) -> Pieces:
        """Encode texts in chunks with a function, and join the results."""
        self._tokenizer.no_truncation()
        tokens = [np.empty(0, dtype=np.int32)]  # np.concatenate needs at least one array
        counts = [np.zeros(1, dtype=np.int64)]
        spans = [_NO_SPANS]
        for start in range(0, len(texts), CHUNK):
            chunk = encode(texts[start : start + CHUNK])
            tokens.append(chunk[0])
            counts.append(chunk[1])
            spans.append(chunk[2])
        starts = np.cumsum(np.concatenate(counts))
        return Pieces(np.concatenate(tokens), np.concatenate(spans), starts)

    def _with_spans(self, texts: Sequence[str]) -> _Encoded:
        encodings = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        tokens, counts = _joined(encodings)
        offsets = chain.from_iterable(encoding.offsets for encoding in encodings)
        spans = np.fromiter(chain.from_iterable(offsets), dtype=np.int32)
        return tokens, counts, trimmed(texts, spans.reshape(-1, 2), counts)

    def _chunk(self, texts: Sequence[str]) -> _Encoded:
        if not self._looks_up:
            return *self._whole(texts), _NO_SPANS
        words, sizes = self._words(texts)
        look_up = map(self._numbers.__getitem__, words)
        numbers = np.fromiter(look_up, dtype=np.int64, count=len(words))
        self._encode_new_words()
        counts = self._counts[numbers]
        tokens = self._tokens[blocks.ranges(self._starts[numbers], counts)]
        last = np.cumsum(sizes) - 1  # the last word of each text: every text has a word, which may be empty
        totals = np.cumsum(counts)[last]
        if len(self._numbers) > MOST_WORDS or self._characters > MOST_CHARACTERS:
            self._clear()
        return tokens, np.diff(totals, prepend=0), _NO_SPANS

    def _words(self, texts: Sequence[str]) -> tuple[list[str], list[int]]:
        """Cut texts at blanks; return all words, and the number of words of each text. Some texts are one word."""
        joined = " ".join(texts)
        if not self._special.search(joined):
            sizes = [text.count(" ") + 1 for text in texts]
            return joined.split(" "), sizes
        words = list[str]()
        sizes = []
        for text in texts:
            parts = [text] if self._special.search(text) else text.split(" ")
            words += parts
            sizes.append(len(parts))
        return words, sizes

    def _encode_new_words(self) -> None:
        new = self._numbers.new
        self._numbers.new = []
        tokens, counts = self._whole(new)
        self._tokens = np.concatenate([self._tokens, tokens])
        self._counts = np.concatenate([self._counts, counts])
        self._starts = np.cumsum(self._counts) - self._counts
        self._characters += sum(map(len, new))

    def _whole(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Encode texts as wholes: return their tokens, int32, and their number in each text, int64."""
        return _joined(self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False))

    def _clear(self) -> None:
        self._numbers = _WordNumbers()
        self._characters = 0
        self._tokens = np.empty(0, dtype=np.int32)
        self._counts = self._starts = np.empty(0, dtype=np.int64)


class _WordNumbers(dict[str, int]):
    """Words -> numbers in the order of first use. A word that is looked up for the first time is added."""

    def __init__(self) -> None:
        super().__init__()
        self.new: list[str] = []
        """Words added since the list was last emptied."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        self.new.append(word)
        return number


def _joined(encodings: Sequence[Encoding]) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens of all encodings, int32, and their number in each encoding, int64."""
    ids = [encoding.ids for encoding in encodings]
    counts = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
    tokens = np.fromiter(chain.from_iterable(ids), dtype=np.int32, count=int(counts.sum()))
    return tokens, counts


def described_part(part: Any) -> dict[str, Any]:
    """Return the description of a part of a tokenizer, as tokenizer.json has it; empty where there is no such part."""
    return {} if part is None else dict(json.loads(part.__getstate__()))
