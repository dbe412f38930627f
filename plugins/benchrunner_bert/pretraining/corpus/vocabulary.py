"""A WordPiece vocabulary with the special tokens that pre-training needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self, final

import numpy as np

from benchrunner import CheckpointError, quoted
from benchrunner_bert.tokenizer import SPECIAL, BertTokenizer, is_lowercase, read_pieces


@final
@dataclass(frozen=True)
class Vocabulary:
    """A vocab.txt with the five special tokens."""

    path: Path
    lowercase: bool
    size: int
    """Number of pieces."""
    special: tuple[int, ...]
    """Ids of [PAD] [UNK] [CLS] [SEP] [MASK]."""

    @property
    def mask(self) -> int:
        """Id of [MASK]."""
        return self.special[SPECIAL.index("[MASK]")]

    @property
    def unknown(self) -> int:
        """Id of [UNK]."""
        return self.special[SPECIAL.index("[UNK]")]

    def continues(self) -> np.ndarray:
        """Say of each piece whether it continues a word, bool (size,)."""
        return np.array([piece.startswith("##") for piece in _read(self.path)])

    def tokenizer(self) -> BertTokenizer:
        """Build the tokenizer of this vocabulary."""
        return BertTokenizer.from_vocabulary(self.path, lowercase=self.lowercase)

    @classmethod
    def read(cls, path: Path, *, lowercase: bool | None = None) -> Self:
        """Read and check a vocab.txt.

        With `lowercase` None, the vocabulary is a lowercase one unless it has capital letters.
        """
        pieces = _read(path)
        missing = [token for token in SPECIAL if token not in pieces]
        if missing:
            raise CheckpointError(
                f"{path}: a vocabulary without {', '.join(missing)}; pre-training needs all of {', '.join(SPECIAL)}, "
                "each on a line of its own."
            )
        if lowercase is None:
            lowercase = is_lowercase(pieces)
        return cls(path, lowercase, len(pieces), tuple(pieces[token] for token in SPECIAL))


def _read(path: Path) -> dict[str, int]:
    """Read the pieces with their ids."""
    pieces = dict[str, int]()
    for number, piece in enumerate(read_pieces(path)):
        if piece in pieces:
            raise CheckpointError(
                f"{path}:{number + 1}: {quoted(piece)} stands on line {pieces[piece] + 1} already; remove one."
            )
        pieces[piece] = number
    return pieces
