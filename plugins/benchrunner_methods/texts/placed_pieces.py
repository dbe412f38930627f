"""Where the pieces of texts are in their sequences, and what of the texts is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from benchrunner.engine import Encoder, Sequences


@final
@dataclass(frozen=True)
class PlacedPieces:
    """Sequences of tokens, with the characters that each token stands for."""

    sequences: Sequences
    characters: list[str]
    """Part of the text for each token; empty for special tokens."""
    cut: list[str]
    """What is left out of each text: of all first texts, then of all second ones."""


def placed(encoder: Encoder, texts: Sequence[Sequence[str]], max_length: int) -> PlacedPieces:
    """Encode texts, or pairs of texts, as `Encoder.assemble` does, with the characters of each token.

    `texts` are the first texts, and for pairs the second ones.
    """
    frame = encoder.frame
    pieces = [encoder.pieces(part) for part in texts]
    wanted = encoder.assemble(texts[0], texts[1] if texts[1:] else None, max_length)
    room = max_length - frame.size(pair=len(texts) > 1)
    counts = pieces[0].counts_beside(pieces[1], room) if texts[1:] else [np.minimum(pieces[0].counts, room)]
    for from_end in (True, False):  # which end is cut is known to the encoder alone
        parts = [part.cut(kept, from_end=from_end) for part, kept in zip(pieces, counts, strict=True)]
        joined = frame.join(*parts)
        if np.array_equal(joined.sequences.tokens, wanted.tokens):
            break
    characters = [""] * len(joined.sequences.tokens)
    cut = list[str]()
    for part, known, places, of_part in zip(parts, pieces, (joined.first, joined.second), texts, strict=False):
        for row, text in enumerate(of_part):
            begin, end = part.begins[row], part.begins[row] + part.counts[row]
            for token, (first, last) in enumerate(known.spans[begin:end], places[row]):
                characters[token] = text[first:last]
            before, after = known.spans[known.starts[row] : begin], known.spans[end : known.starts[row + 1]]
            cut.append("".join(text[left[0, 0] : left[-1, 1]] for left in (before, after) if len(left)))
    return PlacedPieces(joined.sequences, characters, cut)
