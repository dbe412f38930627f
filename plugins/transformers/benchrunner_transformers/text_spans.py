"""Spans of pieces in their texts, without the white space at their ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_SPACE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""The characters for which `str.isspace` is true, in order."""


def trimmed(texts: Sequence[str], spans: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the spans without white space at their ends, int32 (pieces, 2).

    Pieces of byte-level BPE and of sentencepiece may begin with a space, which is no part of an answer. The span of a
    piece of white space is empty, at the end of the piece. `counts` holds the number of pieces of each text.
    """
    codes = np.frombuffer("".join(texts).encode("utf-32-le"), dtype=np.uint32)  # the characters of all texts
    is_space = np.zeros(ord(_SPACE[-1]) + 2, dtype=bool)  # by the character's number; the last for all further ones
    is_space[[ord(character) for character in _SPACE]] = True
    is_solid = ~is_space[np.minimum(codes, len(is_space) - 1)]
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
