"""The best spans of a text: found exactly from the scores of starts and ends, and averaged over several models.

The spans of a question are an array (1 + n, 3): first character, end, score. Line 0 is "no answer", whose characters
mean nothing. The best spans follow, in order of their scores; lines without a span have the score minus infinity.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

FROM, TO, SCORE = range(3)
"""Columns of the array."""
NONE = 0
"""The line of "no answer"."""

Character = tuple[float, float]
"""First character and end of a span."""


@dataclass(frozen=True)
class Window:
    """A part of a text, with the scores of its pieces."""

    first: int
    """Number of the window's first piece in the text."""
    starts: np.ndarray
    """fp32 (pieces,): score of each piece as the start of an answer"""
    ends: np.ndarray
    """fp32 (pieces,): score of each piece as the end of an answer"""
    null: float
    """Score of "no answer"."""
    null_piece: int = -1
    """Piece whose own span stands for "no answer", if it is one of the window's: without special tokens, the last."""


def nbest(windows: Sequence[Window], spans: np.ndarray, *, size: int, longest: int) -> np.ndarray:
    """Return the array of the `size` best spans of a text. `spans` holds the characters of the text's pieces.

    A span has at most `longest` pieces, and begins and ends with a piece that has characters: pieces of white space
    have none. It must begin in the window in which its first piece has most context: where windows overlap, a piece at
    the edge of one window is inside another.
    """
    array = np.zeros((1 + size, 3), dtype=np.float32)
    array[:, SCORE] = -np.inf
    array[NONE, SCORE] = min(window.null for window in windows)
    candidates = [
        _best(window, owned, spans, size=size, longest=longest)
        for window, owned in zip(windows, _owned(windows), strict=True)
    ]
    scores, first, last = (np.concatenate(parts) for parts in zip(*candidates, strict=True))
    order = np.argsort(-scores, kind="stable")[:size]
    lines = array[1 : 1 + len(order)]
    lines[:, FROM], lines[:, TO], lines[:, SCORE] = spans[first[order], 0], spans[last[order], 1], scores[order]
    return array


def _best(
    window: Window, owned: np.ndarray, spans: np.ndarray, *, size: int, longest: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, first pieces and last pieces of the best of all spans of a window with up to `longest` pieces."""
    pieces = len(window.starts)
    width = min(longest, max(pieces, 1))
    has_text = np.less(*spans[window.first : window.first + pieces].T)
    starts = np.where(owned & has_text, window.starts, -np.inf).astype(np.float32)
    ends = np.where(has_text, window.ends, -np.inf).astype(np.float32)
    ends = np.concatenate([ends, np.full(width - 1, -np.inf, dtype=np.float32)])
    if not pieces:
        return starts, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    scores = (starts[:, None] + np.lib.stride_tricks.sliding_window_view(ends, width)).ravel()
    if window.null_piece >= 0:
        scores[window.null_piece * width] = -np.inf
    chosen = np.sort(np.argpartition(-scores, size - 1)[:size]) if len(scores) > size else np.arange(len(scores))
    chosen = chosen[np.isfinite(scores[chosen])]
    first, length = np.divmod(chosen, width)
    return scores[chosen], window.first + first, window.first + first + length


def _owned(windows: Sequence[Window]) -> list[np.ndarray]:
    """Return for each window which of its pieces have most context in it, bool (pieces,).

    The context of a piece is its distance from the nearer edge; among equal distances, the larger window has more.
    """
    if len(windows) == 1:
        return [np.ones(len(windows[0].starts), dtype=bool)]
    context = np.full((len(windows), max(window.first + len(window.starts) for window in windows)), -1.0)
    for number, window in enumerate(windows):
        size = len(window.starts)
        place = np.arange(size)
        context[number, window.first : window.first + size] = np.minimum(place, size - 1 - place) + 0.01 * size
    owner = context.argmax(axis=0)
    return [owner[window.first : window.first + len(window.starts)] == number for number, window in enumerate(windows)]


def average(lists: Sequence[np.ndarray]) -> np.ndarray:
    """Return the spans with the best mean scores. Each member holds one model's spans, (questions, 1 + n, 3).

    A span that is not among a model's spans scores at most as much as the model's last span, whose score stands in.
    """
    return np.stack([_average_of_question(members) for members in zip(*lists, strict=True)])


def _average_of_question(members: Iterable[np.ndarray]) -> np.ndarray:
    members = list(members)
    scores_of, lowest = [], []
    for array in members:
        scores = dict[Character, float]()
        for first, end, score in array[1:][np.isfinite(array[1:, SCORE])].tolist():
            scores.setdefault((first, end), score)  # several pieces may have the same characters: the best comes first
        scores_of.append(scores)
        lowest.append(min(scores.values(), default=-np.inf))
    union = dict.fromkeys(span for scores in scores_of for span in scores)
    means = {
        span: float(np.mean([scores.get(span, low) for scores, low in zip(scores_of, lowest, strict=True)]))
        for span in union
    }
    best = sorted(means, key=lambda span: -means[span])[: len(members[0]) - 1]
    array = np.zeros_like(members[0])
    array[:, SCORE] = -np.inf
    array[NONE, SCORE] = np.mean([float(member[NONE, SCORE]) for member in members])
    for line, span in enumerate(best, start=1):
        array[line] = (*span, means[span])
    return array
