"""WordPiece tokenization as BERT uses it: the Rust tokenizer with results in flat arrays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from benchrunner import CheckpointError, read_json_object
from benchrunner.engine import Frame, Pieces, Sequences
from benchrunner_checkpoints import WordCache, tokenizer_limits

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""BERT's special tokens."""


class BertTokenizer:
    """Tokenizer that makes [CLS] A [SEP] with segment 0, or [CLS] A [SEP] B [SEP] with segment 1 from B on."""

    def __init__(self, tokenizer: Tokenizer, origin: str) -> None:
        """`origin` is the file that the tokenizer was read from, for error messages."""
        tokenizer_limits.check_limits(tokenizer, origin)
        kind = type(tokenizer.model).__name__
        if '{"Regex":"' in tokenizer.to_str():  # in the normalizer, for example
            kind += " with regular expressions"
        if kind != "WordPiece":
            raise CheckpointError(
                f"{origin}: the tokenizer's model is {kind}, where BERT has WordPiece. 'transformers:' before the "
                "model's name reads it with the library transformers."
            )
        if tokenizer.model.token_to_id(tokenizer.model.unk_token) is None:
            raise CheckpointError(
                f"{origin}: the unknown token {tokenizer.model.unk_token!r} is not in the vocabulary."
            )
        missing = [token for token in SPECIAL if token != "[MASK]" and tokenizer.token_to_id(token) is None]
        if missing:
            raise CheckpointError(f"{origin}: the vocabulary has no {', '.join(missing)}.")
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        first = ("[CLS]", self._id_of("[CLS]"))
        last = ("[SEP]", self._id_of("[SEP]"))
        tokenizer.post_processor = processors.BertProcessing(last, first)
        self.words = WordCache(tokenizer)
        self.fingerprint = hashlib.sha256(tokenizer.to_str().encode()).hexdigest()

    @property
    def size(self) -> int:
        """Number of embeddings that the tokens need: the largest token id plus one, added tokens included."""
        return 1 + int(max(self._tokenizer.get_vocab(with_added_tokens=True).values()))

    @classmethod
    def read(cls, folder: Path) -> BertTokenizer:
        """Read tokenizer.json; where there is none, vocab.txt with the options of tokenizer_config.json."""
        path = folder / "tokenizer.json"
        if path.is_file():
            try:
                return cls(Tokenizer.from_file(str(path)), str(path))
            except CheckpointError:
                raise
            except Exception as error:  # the Rust side raises plain Exception
                raise CheckpointError(f"{path}: not a tokenizer: {error}.") from None
        if not (folder / "vocab.txt").is_file():
            raise CheckpointError(f"{folder}: there is neither tokenizer.json nor vocab.txt.")
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
        """Read a vocab.txt, one piece per line.

        With `lowercase` None, text is lowercased unless the vocabulary has capital letters.
        """
        pieces = {piece: number for number, piece in enumerate(read_pieces(path))}
        if lowercase is None:
            lowercase = is_lowercase(pieces)
        tokenizer = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]", max_input_chars_per_word=100))
        tokenizer.normalizer = normalizers.BertNormalizer(
            clean_text=True, handle_chinese_chars=chinese, strip_accents=accents, lowercase=lowercase
        )
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece(prefix="##")
        tokenizer.add_special_tokens([token for token in SPECIAL if token in pieces])
        return cls(tokenizer, str(path))

    def save(self, folder: Path) -> None:
        """Write tokenizer.json, and vocab.txt with the options that other readers of vocab.txt need."""
        self._tokenizer.no_truncation()
        self._tokenizer.save(str(folder / "tokenizer.json"))
        pieces = sorted(self._tokenizer.get_vocab(with_added_tokens=True).items(), key=lambda item: item[1])
        (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece, _ in pieces), encoding="utf-8")
        normalizer = json.loads(self._tokenizer.to_str()).get("normalizer") or {}
        options = {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": bool(normalizer.get("lowercase", True)),
            "strip_accents": normalizer.get("strip_accents"),
            "tokenize_chinese_chars": bool(normalizer.get("handle_chinese_chars", True)),
        }
        (folder / "tokenizer_config.json").write_text(json.dumps(options, indent=2) + "\n", encoding="utf-8")

    @property
    def mask(self) -> int | None:
        """Id of [MASK], which stands for a token to predict; None if the vocabulary has none."""
        number: int | None = self._tokenizer.token_to_id("[MASK]")
        return number

    @property
    def frame(self) -> Frame:
        """The special tokens of a sequence."""
        first, separator, unknown = map(self._id_of, ("[CLS]", "[SEP]", "[UNK]"))
        return Frame(before=(first,), between=(separator,), after=(separator,), unknown=unknown)

    def _id_of(self, token: str) -> int:
        """Return the id of a special token, which the vocabulary has."""
        number = self._tokenizer.token_to_id(token)
        assert number is not None
        return number

    def pieces(self, texts: Sequence[str]) -> Pieces:
        """Encode whole texts on all cores, without special tokens."""
        return self.words.pieces(texts)

    def assemble(self, first: Sequence[str], second: Sequence[str] | None, max_length: int) -> Sequences:
        """Encode texts or pairs of texts on all cores; pairs that are too long lose tokens at the end of the longer."""
        seconds = None if second is None else self.words.tokens(second)
        return self.frame.fitted(self.words.tokens(first), seconds, max_length)


def read_pieces(path: Path) -> list[str]:
    """Read the lines of a vocab.txt."""
    try:
        lines = path.read_bytes().decode().removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path}: not a readable vocabulary: {error}.") from None
    return [line.rstrip("\r") for line in lines]


def is_lowercase(pieces: Iterable[str]) -> bool:
    """Whether the pieces of a vocabulary have no capital letters, special tokens aside."""
    return not any(piece != piece.lower() for piece in pieces if piece not in SPECIAL)
