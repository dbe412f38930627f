"""WordPiece as BERT uses it, by the Rust tokenizer, straight into flat arrays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from benchrunner import CheckpointError, RequestError, read_json_object
from benchrunner.engine import Frame, Pieces, Sequences

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_CHUNK = 4096
"""Texts encoded at once: enough to keep all cores busy, few enough to keep the token objects out of the way."""


class BertTokenizer:
    """[CLS] A [SEP] or [CLS] A [SEP] B [SEP], with segment 0 up to the first [SEP] and segment 1 behind it."""

    def __init__(self, tokenizer: Tokenizer, origin: str) -> None:
        missing = [token for token in SPECIAL if token != "[MASK]" and tokenizer.token_to_id(token) is None]
        if missing:
            raise CheckpointError(f"{origin}: the vocabulary has no {', '.join(missing)}.")
        tokenizer.no_padding()
        tokenizer.no_truncation()
        known = tokenizer.get_vocab()
        marks = ("[SEP]", known["[SEP]"]), ("[CLS]", known["[CLS]"])
        tokenizer.post_processor = processors.BertProcessing(*marks)
        self._tokenizer = tokenizer
        self.fingerprint = hashlib.sha256(tokenizer.to_str().encode()).hexdigest()

    @property
    def size(self) -> int:
        """Embeddings needed: one more than the largest number of a piece, added tokens included."""
        return 1 + int(max(self._tokenizer.get_vocab(with_added_tokens=True).values()))

    @classmethod
    def read(cls, folder: Path) -> BertTokenizer:
        """From tokenizer.json, else from vocab.txt and what tokenizer_config.json says about it."""
        if (folder / "tokenizer.json").is_file():
            try:
                return cls(Tokenizer.from_file(str(folder / "tokenizer.json")), str(folder / "tokenizer.json"))
            except CheckpointError:
                raise
            except Exception as error:  # the Rust side raises plain Exception
                raise CheckpointError(f"{folder / 'tokenizer.json'}: not a tokenizer: {error}.") from None
        if not (folder / "vocab.txt").is_file():
            raise CheckpointError(f"{folder}: neither tokenizer.json nor vocab.txt is there.")
        settings = folder / "tokenizer_config.json"
        options = read_json_object(settings, error=CheckpointError) if settings.is_file() else {}
        return cls.from_vocabulary(
            folder / "vocab.txt",
            lowercase=options.get("do_lower_case"),
            accents=options.get("strip_accents"),
            chinese=options.get("tokenize_chinese_chars", True),
        )

    @classmethod
    def from_vocabulary(
        cls, path: Path, *, lowercase: bool | None = None, accents: bool | None = None, chinese: bool = True
    ) -> BertTokenizer:
        """From a vocab.txt, one piece a line. Where nobody says, a vocabulary with capital letters is a cased one."""
        try:
            lines = path.read_bytes().decode().removesuffix("\n").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise CheckpointError(f"{path}: not a readable vocabulary: {error}.") from None
        pieces = {piece.rstrip("\r"): number for number, piece in enumerate(lines)}
        if lowercase is None:
            lowercase = not any(piece != piece.lower() for piece in pieces if piece not in SPECIAL)
        if "[UNK]" not in pieces:
            raise CheckpointError(f"{path}: the vocabulary has no [UNK].")
        tokenizer = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]", max_input_chars_per_word=100))
        tokenizer.normalizer = normalizers.BertNormalizer(
            clean_text=True, handle_chinese_chars=chinese, strip_accents=accents, lowercase=lowercase
        )
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece(prefix="##")
        tokenizer.add_special_tokens([token for token in SPECIAL if token in pieces])
        return cls(tokenizer, str(path))

    def save(self, folder: Path) -> None:
        """tokenizer.json, vocab.txt and the settings that other readers of vocab.txt need."""
        self._tokenizer.no_truncation()
        self._tokenizer.save(str(folder / "tokenizer.json"))
        pieces = sorted(self._tokenizer.get_vocab(with_added_tokens=True).items(), key=lambda item: item[1])
        (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece, _ in pieces), encoding="utf-8")
        normalizer = json.loads(self._tokenizer.to_str()).get("normalizer") or {}
        settings = {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": bool(normalizer.get("lowercase", True)),
            "strip_accents": normalizer.get("strip_accents"),
            "tokenize_chinese_chars": bool(normalizer.get("handle_chinese_chars", True)),
        }
        (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")

    @property
    def frame(self) -> Frame:
        known = self._tokenizer.get_vocab()
        separator = (known["[SEP]"],)
        return Frame(before=(known["[CLS]"],), between=separator, after=separator, unknown=known["[UNK]"])

    def pieces(self, texts: Sequence[str]) -> Pieces:
        """Encoded by all cores, whole, without special tokens."""
        self._tokenizer.no_truncation()
        tokens, spans, lengths = list[np.ndarray](), list[np.ndarray](), list[int]()
        for at in range(0, len(texts), _CHUNK):
            encoded = self._tokenizer.encode_batch(texts[at : at + _CHUNK], add_special_tokens=False)
            tokens.append(np.fromiter(chain.from_iterable(one.ids for one in encoded), dtype=np.int32))
            offsets = chain.from_iterable(one.offsets for one in encoded)
            spans.append(np.fromiter(chain.from_iterable(offsets), dtype=np.int32).reshape(-1, 2))
            lengths.extend(map(len, encoded))
        none = np.empty(0, dtype=np.int32)
        return Pieces(
            np.concatenate([none, *tokens]),
            np.concatenate([none.reshape(0, 2), *spans]),
            np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
        )

    def assemble(self, first: Sequence[str], second: Sequence[str] | None, max_length: int) -> Sequences:
        """Encoded by all cores; too-long pairs lose tokens from the end of the longer text."""
        shortest = 3 if second is None else 5
        if max_length < shortest:  # the Rust side would then not truncate at all
            raise RequestError(f"A sequence needs at least {shortest} tokens here; max_length is {max_length}.")
        self._tokenizer.enable_truncation(max_length, strategy="longest_first")
        tokens, segments, lengths = list[np.ndarray](), list[np.ndarray](), list[int]()
        for at in range(0, len(first), _CHUNK):
            texts = first[at : at + _CHUNK]
            chunk = texts if second is None else list(zip(texts, second[at : at + _CHUNK], strict=True))
            encoded = self._tokenizer.encode_batch_fast(chunk)
            ids = [one.ids for one in encoded]
            tokens.append(np.fromiter(chain.from_iterable(ids), dtype=np.int32))
            segments.append(np.fromiter(chain.from_iterable(one.type_ids for one in encoded), dtype=np.int8))
            lengths.extend(map(len, ids))
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        return Sequences(np.concatenate(tokens), np.concatenate(segments), starts)
