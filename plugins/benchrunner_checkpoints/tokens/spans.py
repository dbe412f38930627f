"""Spans of pieces in their texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def trimmed(texts: Sequence[str], spans: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the spans without white space at their ends, int32 (pieces, 2).

    Pieces of byte-level BPE and of sentencepiece may begin with a space, which is no part of an answer. The span of a
    piece of white space is empty, at the end of the piece. `counts` holds the number of pieces of each text.
    """
    codes = np.frombuffer("".join(texts).encode("utf-32-le"), dtype="<U1")  # the characters of all texts
    is_solid = ~np.strings.isspace(codes)
    places = np.flatnonzero(is_solid)
    before = np.append(0, np.cumsum(is_solid, dtype=np.int32))  # how many solid characters stand before each
    sizes = np.array([len(text) for text in texts], dtype=np.int64)
    offset = np.repeat(np.cumsum(sizes) - sizes, counts)  # of the text of each piece
    begin = spans[:, 0] + offset
    end = spans[:, 1] + offset
    next_solid = np.append(places, len(codes))[before[begin]]
    last_solid = np.append(-1, places)[before[end]]
    first = np.minimum(next_solid, end)
    stop = np.maximum(last_solid + 1, first)
    return np.stack([first - offset, stop - offset], axis=1).astype(np.int32)
