"""Fast tokenizers of transformers: the Rust tokenizer with results in flat arrays."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from tokenizers import Encoding, Tokenizer

from benchrunner import CheckpointError
from benchrunner.engine import Frame, Pieces, Sequences, first_line
from benchrunner_checkpoints import WordCache, tokenizer_limits
from benchrunner_transformers.checkpoint.tokenizer_files import read_tokenizer

_PROBES = ("a", "the", ".", "0")
"""Texts that show which tokens a tokenizer puts around a text. The first that has tokens is taken."""
_UNUSUAL = "\U00012000"
"""A cuneiform sign, which vocabularies lack unless they have bytes."""
_WORDS = ("the", "of", "Paris", "x", "1998")
"""Words that show whether a tokenizer needs a space before a word."""
_NO_LIMIT = 1_000_000
"""Lengths from here on are the library's way to say that the longest sequence is unknown."""
RELATIVE_SEGMENTS = ("funnel", "xlnet")
"""Model types that read segments although their configuration does not give a number of segments."""
_ONE_SEGMENT = ("big_bird",)
"""Model types whose pre-training and published fine-tuning used the first of their segments only."""


class HubTokenizer:
    """The fast tokenizer of a checkpoint. Sequences are those of transformers, id for id.

    A tokenizer without special tokens, such as GPT-2's, gives no token for an empty text; a sequence without any token
    gets the token `frame.unknown`, which is the end-of-text token of GPT-2.
    """

    def __init__(self, tokenizer: Any, config: Any, origin: Path) -> None:
        """Take a tokenizer of transformers and the model's configuration. `origin` is named in error messages."""
        self._tokenizer = tokenizer
        self._origin = origin
        self.notes = _switch_off_sampling(tokenizer.backend_tokenizer)
        """Remarks on the reading; one sentence each."""
        self._backend = _copy(tokenizer, origin)
        _check_unknown(self._backend, origin)
        self._cache = WordCache(self._backend)
        self.reads_segments = _reads_segments(tokenizer, config)
        """Whether the model takes segments. If not, all segments are 0, as in RoBERTa and GPT-2."""
        self.frame = self._frame()
        """The special tokens of a sequence."""
        facts = [
            self._backend.to_str(),
            tokenizer.split_special_tokens,
            tokenizer.truncation_side,
            self.reads_segments,
            self.frame.unknown,
            self.max_length,
        ]
        self.fingerprint = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
        """Hash of everything that the tokenizer is, whatever files it was read from."""
        self._prefix = self._word_prefix()

    @classmethod
    def read(cls, folder: Path, config: Any) -> HubTokenizer:
        """Read the fast tokenizer of a checkpoint folder, without the network and without code from the folder.

        `config` is the model's configuration.
        """
        return cls(read_tokenizer(folder, config), config, folder)

    def save(self, folder: Path) -> None:
        """Write tokenizer.json and tokenizer_config.json, which `read` and transformers read."""
        self._tokenizer.save_pretrained(str(folder))

    @property
    def max_length(self) -> int | None:
        """Number of tokens of the longest sequence; None if tokenizer_config.json does not say."""
        limit = self._tokenizer.model_max_length  # may be infinite
        return int(limit) if limit < _NO_LIMIT else None

    @property
    def mask(self) -> int | None:
        """Id of the token that stands for a token to predict; None if there is none."""
        number: int | None = self._tokenizer.mask_token_id
        return number

    @property
    def size(self) -> int:
        """Number of embeddings that the tokens need: the largest token id plus one, added and special ones included."""
        ids = self._backend.get_vocab(with_added_tokens=True).values()
        return 1 + int(max(*ids, self.frame.unknown, *self.frame.before, *self.frame.between, *self.frame.after))

    @property
    def summary_place(self) -> Literal["first", "last"]:
        """Place of the token that stands for a whole sequence, if attention looks at both sides.

        The place is the last token where no special token is before the text, as in XLNet and T5.
        """
        return "first" if self.frame.before else "last"

    def pieces(self, texts: Sequence[str]) -> Pieces:
        """Encode whole texts on all cores, without special tokens. Spans have no white space at their ends."""
        return self._cache.pieces(texts)

    def words(self, words: Sequence[str]) -> Pieces:
        """Encode single words as they are encoded inside a sentence, after a space."""
        if not self._prefix:
            return self.pieces(words)
        pieces = self.pieces([self._prefix + word for word in words])
        spans = np.maximum(pieces.spans - len(self._prefix), 0).astype(np.int32)
        return Pieces(pieces.tokens, spans, pieces.starts)

    def assemble(self, first: Sequence[str], second: Sequence[str] | None, max_length: int) -> Sequences:
        """Encode texts or pairs of texts on all cores; pairs that are too long lose tokens of the longer text."""
        seconds = None if second is None else self._cache.tokens(second)
        from_end = self._tokenizer.truncation_side == "left"
        return self.frame.fitted(self._cache.tokens(first), seconds, max_length, from_end=from_end)

    def _frame(self) -> Frame:
        """Find the special tokens by encoding a short text, alone and in a pair."""
        text = next((text for text in _PROBES if self._ids(text)), _PROBES[0])
        alone = _parts(self._backend.encode(text), texts=1)
        both = _parts(self._backend.encode(text, text), texts=2)
        if alone is None or both is None:
            raise CheckpointError(
                f"{self._origin}: the tokenizer gives no token for words such as '{text}', or does not put the second "
                "text of a pair after the first. Choose another checkpoint."
            )
        frame = self._frame_of(both)
        single = self._frame_of([*alone[:2], [], alone[1], alone[2]])
        as_single = Frame(
            frame.before, (), frame.after, frame.unknown, (frame.segments[0],) * 2, frame.special_segments
        )
        return frame if single == as_single else replace(frame, single=single)

    def _frame_of(self, parts: Sequence[Sequence[tuple[int, int]]]) -> Frame:
        """Make a frame of the tokens and segments before, in, between, in and after two texts."""
        tokens = list[tuple[int, ...]]()
        segments = list[tuple[int, ...]]()
        for part in parts:
            tokens.append(tuple(token for token, _ in part))
            segments.append(tuple(segment if self.reads_segments else 0 for _, segment in part))
        before, first, between, second, after = segments
        usual = (first[:1] * len(before), first[:1] * len(between), second[:1] * len(after))
        return Frame(
            before=tokens[0],
            between=tokens[2],
            after=tokens[4],
            unknown=self._unknown(),
            segments=(first[0], second[0]),
            special_segments=None if usual == (before, between, after) else (before, between, after),
        )

    def _unknown(self) -> int:
        """Return the unknown token's id; where there is none, that of the end, of the start or of the padding."""
        names = ("unk_token_id", "eos_token_id", "bos_token_id", "pad_token_id")
        ids = (getattr(self._tokenizer, name) for name in names)
        return next((int(token) for token in ids if token is not None), 0)

    def _word_prefix(self) -> str:
        """Return what must stand before a word, so that it gets its pieces inside a sentence: a space or nothing."""
        start = self._ids("a")
        for prefix in ("", " "):
            if all(start + self._ids(prefix + word) == self._ids(f"a {word}") for word in _WORDS):
                return prefix
        return ""

    def _ids(self, text: str) -> list[int]:
        return list(self._backend.encode(text, add_special_tokens=False).ids)


def _switch_off_sampling(backend: Tokenizer) -> tuple[str, ...]:
    """Let equal texts have equal tokens: BPE dropout, and sampling from a unigram model, are for pre-training only."""
    settings = []
    for name in ("dropout", "alpha", "nbest_size"):
        if getattr(backend.model, name, None) is not None:
            setattr(backend.model, name, None)
            settings.append(name)
    drawn = f"the tokenizer would draw tokens at random ({', '.join(settings)}); this is switched off"
    return (drawn,) if settings else ()


def _copy(tokenizer: Any, origin: Path) -> Tokenizer:
    """Copy the Rust tokenizer, because truncation is a part of its state."""
    try:
        backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    except Exception as error:  # the Rust side raises plain Exception
        raise CheckpointError(f"{origin}: the tokenizer cannot be copied: {first_line(error)}") from None
    tokenizer_limits.check_limits(backend, origin)
    backend.encode_special_tokens = tokenizer.split_special_tokens
    backend.no_padding()
    backend.no_truncation()
    return backend


def _check_unknown(backend: Tokenizer, origin: Path) -> None:
    """Raise `CheckpointError` if the tokenizer fails at text that its vocabulary does not cover, or at a pair."""
    try:
        with _without_panics():
            backend.encode(_UNUSUAL)
            backend.encode(_PROBES[0], _PROBES[0])
    except BaseException as error:  # the Rust side raises plain Exception, and panics are no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        raise CheckpointError(f"{origin}: the tokenizer cannot encode every text: {first_line(error)}.") from None


@contextlib.contextmanager
def _without_panics() -> Iterator[None]:
    """Keep Rust from printing where it panics: this goes past Python to standard error, and the error says it too."""
    kept = os.dup(2)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(silent)


def _reads_segments(tokenizer: Any, config: Any) -> bool:
    """Say whether the model takes segments.

    The tokenizers of transformers 5 give segments to the model for some families only, but the pre-training of more
    families used them, for example ALBERT's and XLNet's: their configuration has more than one segment.
    """
    count = getattr(config, "type_vocab_size", None)
    if count == 1 or config.model_type in _ONE_SEGMENT:
        return False
    given = "token_type_ids" in tokenizer.model_input_names
    return given or config.model_type in RELATIVE_SEGMENTS or (count or 0) > 1


def _parts(encoding: Encoding, *, texts: int) -> list[list[tuple[int, int]]] | None:
    """Divide tokens and their segments into what is before, in, between and after the texts.

    Return None if the texts are not in their order, or if a text has no token.
    """
    parts = [list[tuple[int, int]]() for _ in range(2 * texts + 1)]
    place = 0
    for token, segment, text in zip(encoding.ids, encoding.type_ids, encoding.sequence_ids, strict=True):
        following = place + place % 2 if text is None else 2 * text + 1
        if following < place:
            return None
        place = following
        parts[place].append((token, segment))
    return parts if all(parts[1::2]) else None
