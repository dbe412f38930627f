"""Windows over sentences and documents: which words share a sequence, and in which sequence each word is scored."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from benchrunner.features.blocks import ranges


@dataclass(frozen=True)
class Borders:
    """First positions of words, sentences and documents. The last entry of each array is the end of the last item."""

    words: np.ndarray
    """int64 (words + 1,): first piece of each word"""
    sentences: np.ndarray
    """int64 (sentences + 1,): first word of each sentence"""
    documents: np.ndarray | None
    """int64 (documents + 1,): first word of each document; None if unknown"""


@dataclass(frozen=True)
class Windows:
    """Windows of neighbouring words. Each word is shown in one window or more and scored in one of them."""

    first: np.ndarray
    """int64 (windows,): the first word that a window shows"""
    end: np.ndarray
    """int64 (windows,): the word after the last word that a window shows"""
    scored_in: np.ndarray
    """int64 (words,): the window in which each word is scored; at least one word is scored in each window"""


def windows(borders: Borders, context: str, room: int, *, training: bool) -> Windows:
    """Divide the words into windows of at most `room` pieces; no word may have more pieces.

    In training, each sentence is shown once: whole if it fits, and in the context `document` together with neighbouring
    sentences. In prediction, text that is too long for one window gets several windows that overlap by half a window or
    more. A word is scored in the window where the smaller of the numbers of pieces on its two sides is largest. The
    context `window` shows a sentence with as much of its document on both sides as there is room for.
    """
    words, sentences, documents = borders.words, borders.sentences, borders.documents
    if documents is None:
        if context != "sentence":
            raise ValueError(f"the context '{context}' needs documents")
        documents = sentences
    whole = documents if context == "document" else sentences
    if training:
        parts = _packed(words, sentences, room)
        if context == "document":
            parts = parts[_packed(words[parts], np.searchsorted(parts, documents), room)]
        first, end = parts[:-1], parts[1:]
    else:
        first, end = _overlapping(words, whole, room)
    shown = _widened(words, documents, first, end, room) if context == "window" else (first, end)
    used, scored_in = np.unique(_best(words, (first, end), shown), return_inverse=True)
    return Windows(shown[0][used], shown[1][used], scored_in.reshape(-1).astype(np.int64))


def _packed(places: np.ndarray, borders: np.ndarray, room: int) -> np.ndarray:
    """Return where the longest runs of items begin that fit into `room` pieces and cross no border, int64 (runs + 1,).

    `places` holds the first piece of each item, and the end of the last item.
    """
    first_piece, cuts = places.tolist(), [0]
    for border in borders[1:].tolist():
        while cuts[-1] < border:
            cuts.append(min(bisect_right(first_piece, first_piece[cuts[-1]] + room, lo=cuts[-1]) - 1, border))
    return np.array(cuts, dtype=np.int64)


def _overlapping(places: np.ndarray, borders: np.ndarray, room: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first item and the end of windows over each part between borders, int64 (windows,) each.

    A window begins half a window after the window before it. The last window of a part begins early enough to be full.
    """
    first_piece, pairs = places.tolist(), list[tuple[int, int]]()
    for start, border in pairwise(borders.tolist()):
        first = start
        while first_piece[border] - first_piece[first] > room:
            end = bisect_right(first_piece, first_piece[first] + room, lo=first) - 1
            pairs.append((first, end))
            half = bisect_right(first_piece, first_piece[first] + room // 2, lo=first) - 1
            first = min(max(half, first + 1), end)
        pairs.append((bisect_left(first_piece, first_piece[border] - room, lo=start), border))
    array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return array[:, 0], array[:, 1]


def _widened(
    words: np.ndarray, documents: np.ndarray, first: np.ndarray, end: np.ndarray, room: int
) -> tuple[np.ndarray, np.ndarray]:
    """Extend each window on both sides by whole words of its document, as far as there is room."""
    document = np.searchsorted(documents, first, side="right") - 1
    start, stop = words[documents[document]], words[documents[document + 1]]
    spare = room - (words[end] - words[first])
    begin = np.maximum(start, np.minimum(words[first] - spare // 2, stop - room))
    close = np.minimum(begin + room, stop)
    return np.searchsorted(words, begin), np.searchsorted(words, close, side="right") - 1


def _best(words: np.ndarray, own: tuple[np.ndarray, np.ndarray], shown: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the window in which each word has most context, int64 (words,); among equal windows, the first.

    A window may score the words from `own[0]` to `own[1]`, and shows those from `shown[0]` to `shown[1]`.
    """
    counts = own[1] - own[0]
    window = np.repeat(np.arange(len(counts)), counts)
    word = ranges(own[0], counts)
    before = words[word] - words[shown[0]][window]
    after = words[shown[1]][window] - words[word + 1]
    order = np.lexsort((window, -np.minimum(before, after), word))
    _, best = np.unique(word[order], return_index=True)
    return np.asarray(window[order][best])
