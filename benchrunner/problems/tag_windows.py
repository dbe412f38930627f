"""Which words share a sequence, and in which of the sequences that show a word it is scored."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from benchrunner.features.flat_batch import ranges


@dataclass(frozen=True)
class Borders:
    """Where words, sentences and documents begin; every array ends with where the last one ends."""

    words: np.ndarray
    """int64 (words + 1,): counted in pieces"""
    sentences: np.ndarray
    """int64 (sentences + 1,): counted in words"""
    documents: np.ndarray | None
    """int64 (documents + 1,): counted in words; None where nobody knows"""


@dataclass(frozen=True)
class Windows:
    """Runs of neighbouring words. Every word is shown in one window or several and scored in one of them."""

    first: np.ndarray
    """int64 (windows,): the first word shown"""
    end: np.ndarray
    """int64 (windows,): the word behind the last one shown"""
    scored_in: np.ndarray
    """int64 (words,): the window in which each word is scored; every window scores some word"""


def windows(borders: Borders, context: str, room: int, *, training: bool) -> Windows:
    """Windows of at most `room` pieces, of which no word may have more.

    What is learned from shows every sentence once: whole where it fits, and in the context `document` packed with its
    neighbours. At prediction, what is too long for one window has several that overlap by half a window or more, and
    each word is scored where the smaller of the numbers of pieces on its two sides is largest. The context `window`
    shows a sentence as it is, with as much of its document on both sides as there is room for.
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
    """Where runs of items begin that are as long as fit and cross no border; `places` says where each item lies."""
    at, cuts = places.tolist(), [0]
    for border in borders[1:].tolist():
        while cuts[-1] < border:
            cuts.append(min(bisect_right(at, at[cuts[-1]] + room, lo=cuts[-1]) - 1, border))
    return np.array(cuts, dtype=np.int64)


def _overlapping(places: np.ndarray, borders: np.ndarray, room: int) -> tuple[np.ndarray, np.ndarray]:
    """First and end of windows over each part between borders; the last one of a part reaches back to be full."""
    at, found = places.tolist(), list[tuple[int, int]]()
    for start, border in pairwise(borders.tolist()):
        first = start
        while at[border] - at[first] > room:
            end = bisect_right(at, at[first] + room, lo=first) - 1
            found.append((first, end))
            half = bisect_right(at, at[first] + room // 2, lo=first) - 1
            first = min(max(half, first + 1), end)
        found.append((bisect_left(at, at[border] - room, lo=start), border))
    pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _widened(
    words: np.ndarray, documents: np.ndarray, first: np.ndarray, end: np.ndarray, room: int
) -> tuple[np.ndarray, np.ndarray]:
    """The same windows in the middle of as many whole words of their documents as there is room for."""
    document = np.searchsorted(documents, first, side="right") - 1
    start, stop = words[documents[document]], words[documents[document + 1]]
    spare = room - (words[end] - words[first])
    begin = np.maximum(start, np.minimum(words[first] - spare // 2, stop - room))
    close = np.minimum(begin + room, stop)
    return np.searchsorted(words, begin), np.searchsorted(words, close, side="right") - 1


def _best(words: np.ndarray, own: tuple[np.ndarray, np.ndarray], shown: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Of the windows that may score each word, the one with most context; of equal ones the first. int64 (words,)."""
    counts = own[1] - own[0]
    window = np.repeat(np.arange(len(counts)), counts)
    word = ranges(own[0], counts)
    before = words[word] - words[shown[0]][window]
    after = words[shown[1]][window] - words[word + 1]
    order = np.lexsort((window, -np.minimum(before, after), word))
    _, best = np.unique(word[order], return_index=True)
    return np.asarray(window[order][best])
