"""A WordPiece vocabulary: learnt from the corpus, the same one every time, or a given one, checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, final

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from benchrunner import CheckpointError, DataError, RequestError, write_atomically
from benchrunner_bert.tokenizer import SPECIAL, BertTokenizer

CHARACTERS = 1000
"""At most so many different ones have pieces of their own; text with a rarer one is [UNK] there."""
SMALLEST = 100
"""Pieces: fewer do not spell English."""


@final
@dataclass(frozen=True)
class Vocabulary:
    """A vocab.txt with the five special tokens."""

    path: Path
    lowercase: bool
    size: int
    """Pieces."""
    special: tuple[int, ...]
    """The numbers of [PAD] [UNK] [CLS] [SEP] [MASK]."""

    @property
    def mask(self) -> int:
        return self.special[SPECIAL.index("[MASK]")]

    def tokenizer(self) -> BertTokenizer:
        return BertTokenizer.from_vocabulary(self.path, lowercase=self.lowercase)

    @classmethod
    def read(cls, path: Path, *, lowercase: bool | None = None) -> Self:
        """Checked. Where nobody says, a vocabulary with capital letters is a cased one."""
        pieces = _read(path)
        missing = [token for token in SPECIAL if token not in pieces]
        if missing:
            raise CheckpointError(
                f"{path}: a vocabulary without {', '.join(missing)}; pre-training needs all of {', '.join(SPECIAL)}, "
                "each on a line of its own."
            )
        if lowercase is None:
            lowercase = not any(piece != piece.lower() for piece in pieces if piece not in SPECIAL)
        return cls(path, lowercase, len(pieces), tuple(pieces[token] for token in SPECIAL))


def _read(path: Path) -> dict[str, int]:
    """Piece -> number."""
    try:
        lines = path.read_bytes().decode().removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path}: not a readable vocabulary: {error}.") from None
    pieces = dict[str, int]()
    for number, line in enumerate(lines):
        piece = line.rstrip("\r")
        if piece in pieces:
            raise CheckpointError(
                f"{path}:{number + 1}: {piece!r} stands on line {pieces[piece] + 1} already; remove one."
            )
        pieces[piece] = number
    return pieces


def learn(paragraphs: Callable[[], Iterable[str]], path: Path, *, size: int, lowercase: bool = True) -> Vocabulary:
    """Write the vocab.txt of a corpus; `paragraphs` gives all of it, and is asked twice."""
    if size < SMALLEST:
        raise RequestError(f"A vocabulary of {size} pieces spells no text: ask for at least {SMALLEST}.")
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    characters = _characters(paragraphs(), tokenizer, min(CHARACTERS, size // 4))
    if not characters:
        raise DataError("The corpus is empty: no vocabulary can be learnt from it.")
    # The trainer numbers single characters in an order that changes from run to run, and decides ties by number.
    # Named as special they have their numbers from the start; being learnt last, the text is not searched for them.
    first = [*SPECIAL, *characters, *(f"##{one}" for one in characters if _stands_inside(one, tokenizer))]
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        special_tokens=first,
        initial_alphabet=characters,
        limit_alphabet=len(characters),
        continuing_subword_prefix="##",
        show_progress=False,
    )
    tokenizer.train_from_iterator(paragraphs(), trainer)
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    text = "".join(f"{piece}\n" for piece, _ in pieces)
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))
    return Vocabulary.read(path, lowercase=lowercase)


def _characters(paragraphs: Iterable[str], tokenizer: Tokenizer, most: int) -> Sequence[str]:
    """The most frequent characters of the normalised text, in the order of their code points."""
    raw = np.zeros(0x110000, dtype=np.int64)
    for block in _blocks(paragraphs):
        codes = np.frombuffer(block.encode("utf-32-le"), dtype=np.uint32)
        found, counts = np.unique(codes, return_counts=True)
        raw[found] += counts
    normalised = dict[str, int]()
    for code in np.flatnonzero(raw):
        for one in tokenizer.normalizer.normalize_str(chr(code)):
            normalised[one] = normalised.get(one, 0) + int(raw[code])
    ranked = sorted((-count, one) for one, count in normalised.items() if not one.isspace())
    return sorted(one for _, one in ranked[:most])


def _blocks(paragraphs: Iterable[str]) -> Iterator[str]:
    """Many paragraphs at once."""
    block, size = list[str](), 0
    for one in paragraphs:
        block.append(one)
        size += len(one)
        if size > 1 << 20:
            yield " ".join(block)
            block, size = [], 0
    yield " ".join(block)


def _stands_inside(character: str, tokenizer: Tokenizer) -> bool:
    """Whether words go on with it: punctuation and Chinese characters are words of their own."""
    text = tokenizer.normalizer.normalize_str(f"a{character}")
    return len(tokenizer.pre_tokenizer.pre_tokenize_str(text)) == 1
