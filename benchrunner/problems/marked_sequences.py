"""Encode texts with marked words: a sequence per row, cut around its marks, and the tokens of the marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchrunner.errors import RequestError
from benchrunner.features.arrays import Sequences
from benchrunner.features.pieces import Part, Pieces

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.parameters.recipes import Recipe


def marked_sequences(table: pa.Table, encoder: Encoder, recipe: Recipe) -> tuple[Sequences, np.ndarray]:
    """Return a sequence for each row, and the tokens to read: int64 (rows, 1 + marks), counted over all sequences.

    The first token is the encoder's summary token, the others are the first piece of each mark. The summary token
    stands for a mark that the cut text no longer shows.
    """
    names = [name for name in ("a", "b") if name in table.column_names]
    texts = [encoder.pieces(table.column(name).to_pylist()) for name in names]
    marks = np.array(table.column("marks").to_pylist(), dtype=np.int64)  # (rows, marks, 3)
    free = min(recipe.max_length, encoder.max_length) - encoder.frame.size(pair=len(texts) > 1)
    if free < len(texts):
        raise RequestError(f"A max_length of {recipe.max_length} leaves no room beside the special tokens.")
    rooms = _rooms([text.counts for text in texts], free)
    parts = []
    offsets = []  # of each text: the place of each mark in the pieces that are shown, -1 for marks that are not
    for number, (text, room) in enumerate(zip(texts, rooms, strict=True)):
        pieces = _first_pieces(text, marks, number)
        begin = _begins(text.counts, room, pieces)
        parts.append(Part(text.tokens, text.starts[:-1] + begin, room))
        offset = pieces - begin[:, None]
        offsets.append(np.where((pieces >= 0) & (offset < room[:, None]), offset, -1))
    joined = encoder.frame.join(*parts)
    starts = joined.sequences.starts
    summary = starts[:-1] if encoder.summary_place == "first" else starts[1:] - 1
    places = np.repeat(summary[:, None], 1 + marks.shape[1], axis=1)
    for first, offset in zip((joined.first, joined.second), offsets, strict=False):
        places[:, 1:] = np.where(offset >= 0, first[:, None] + offset, places[:, 1:])
    return joined.sequences, places


def _first_pieces(text: Pieces, marks: np.ndarray, number: int) -> np.ndarray:
    """Return the first piece of each mark in a text, counted in the text; -1 for marks in the other text."""
    first = np.full(marks.shape[:2], -1, dtype=np.int64)
    for row in range(len(marks)):
        spans = text.spans[text.starts[row] : text.starts[row + 1]]
        for place, (where, begin, end) in enumerate(marks[row]):
            if where == number:
                piece = int(np.searchsorted(spans[:, 1], begin, side="right"))
                if piece < len(spans) and spans[piece, 0] < end:
                    first[row, place] = piece
    return first


def _rooms(counts: Sequence[np.ndarray], free: int) -> list[np.ndarray]:
    """Return how many pieces of each text are shown. Of a pair that is too long, the longer text is cut first."""
    if len(counts) == 1:
        return [np.minimum(counts[0], free)]
    first, second = counts
    half = free // 2
    cut = np.where(second <= half, free - second, np.minimum(first, free - half))
    room = np.where(first + second <= free, first, cut)
    return [room, np.minimum(second, free - room)]


def _begins(counts: np.ndarray, room: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """Return the first piece that is shown of each text: the marks are in the middle of a text that is cut."""
    first = np.where(pieces >= 0, pieces, counts[:, None]).min(axis=1)
    last = pieces.max(axis=1)
    middle = np.where(last >= 0, (first + last) // 2, 0)
    return np.asarray(np.clip(middle - room // 2, 0, counts - room))
