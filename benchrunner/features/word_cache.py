"""Cache of a tokenizer's words: encodes most texts by looking up their words, each of which is encoded once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, final

import numpy as np

from benchrunner.features.blocks import ranges
from benchrunner.features.pieces import Pieces

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CHUNK = 4096
"""Number of texts encoded at once: enough to keep all cores busy, few enough to limit the memory for token objects."""
MOST_WORDS = 500_000
"""Number of words after which the cache begins anew; English text of a million sentences has fewer."""


@final
class WordCache:
    """Encodes texts word by word, for tokenizers that cut printable ASCII into words and encode each word by itself.

    Such a tokenizer separates texts at blanks and around each punctuation mark. A text with other characters, or with
    the first character of a special token, is encoded by the tokenizer as a whole. The result is always that of
    the tokenizer, in a fraction of the time.
    """

    _numbers: dict[str, int]
    """Word -> its number, from 0."""
    _tokens: np.ndarray
    """int32: the tokens of all words, one word after another"""
    _counts: np.ndarray
    """int64 (words,): number of tokens of each word"""
    _starts: np.ndarray
    """int64 (words,): first token of each word"""

    def __init__(self, tokenizer: Tokenizer, *, normalizer: str, pre_tokenizer: str) -> None:
        """Prepare a cache for a tokenizer of the library tokenizers.

        `normalizer` and `pre_tokenizer` are the names of the library's types that cut texts this way. A tokenizer with
        other types encodes every text as a whole. The normalizer has the settings `clean_text` and `lowercase`.
        """
        self._tokenizer = tokenizer
        settings = described_part(tokenizer.normalizer)
        starts = {token.content[:1] for token in tokenizer.get_added_tokens_decoder().values()}
        self._looks_up = (
            settings.get("type") == normalizer
            and bool(settings.get("clean_text"))
            and described_part(tokenizer.pre_tokenizer).get("type") == pre_tokenizer
            and not any(start.isalnum() or start.isspace() or not start for start in starts)
        )
        self._lowercases = bool(settings.get("lowercase"))
        self._other = re.compile("|".join(["[^ -~]", *map(re.escape, sorted(starts))]))
        self._clear()

    def tokens(self, texts: Sequence[str]) -> Pieces:
        """Encode whole texts without special tokens. The spans of the result are left empty."""
        self._tokenizer.no_truncation()
        tokens = [np.empty(0, dtype=np.int32)]
        counts = [np.zeros(1, dtype=np.int64)]
        for start in range(0, len(texts), CHUNK):
            chunk_tokens, chunk_counts = self._chunk(texts[start : start + CHUNK])
            tokens.append(chunk_tokens)
            counts.append(chunk_counts)
        no_spans = np.empty((0, 2), dtype=np.int32)
        return Pieces(np.concatenate(tokens), no_spans, np.cumsum(np.concatenate(counts)))

    def _chunk(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the tokens of some texts, int32 (tokens,), and their number in each text, int64 (texts,)."""
        if not self._looks_up:
            return _encoded(self._tokenizer, texts)
        if len(self._numbers) > MOST_WORDS:
            self._clear()
        words = [self._words(text) for text in texts]
        self._learn(word for word in dict.fromkeys(chain.from_iterable(words)) if word not in self._numbers)
        numbers = np.fromiter(map(self._numbers.__getitem__, chain.from_iterable(words)), dtype=np.int64)
        counts = self._counts[numbers]
        first_words = np.cumsum([0, *map(len, words)])  # of each text, and the end
        first_tokens = np.concatenate([[0], np.cumsum(counts)])  # of each word, and the end
        return self._tokens[ranges(self._starts[numbers], counts)], np.diff(first_tokens[first_words])

    def _learn(self, words: Iterable[str]) -> None:
        """Encode new words and add them to the cache."""
        unknown = list(words)
        if unknown:
            tokens, counts = _encoded(self._tokenizer, unknown)
            for number, word in enumerate(unknown, len(self._numbers)):
                self._numbers[word] = number
            self._tokens = np.concatenate([self._tokens, tokens])
            self._counts = np.concatenate([self._counts, counts])
            self._starts = np.cumsum(self._counts) - self._counts

    def _words(self, text: str) -> list[str]:
        """Cut a text into words that the tokenizer encodes one by one; the text itself if it must be encoded whole."""
        if self._other.search(text):
            return [text]
        return _WORDS.findall(text.lower() if self._lowercases else text)

    def _clear(self) -> None:
        self._numbers = {}
        self._tokens = np.empty(0, dtype=np.int32)
        self._counts = self._starts = np.empty(0, dtype=np.int64)


_WORDS = re.compile(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]")
"""Words of printable ASCII: letters and digits that stand together, and each other character but the space."""


def _encoded(tokenizer: Tokenizer, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Encode texts as wholes: return their tokens, int32, and their number in each text, int64."""
    ids = [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]
    counts = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
    tokens = np.fromiter(chain.from_iterable(ids), dtype=np.int32, count=int(counts.sum()))
    return tokens, counts


def described_part(part: Any) -> dict[str, Any]:
    """Return the description of a part of a tokenizer, as tokenizer.json has it; empty where there is no such part."""
    return {} if part is None else dict(json.loads(part.__getstate__()))
