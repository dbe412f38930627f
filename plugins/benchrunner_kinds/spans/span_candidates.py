"""The best spans of a text: found exactly from the scores of starts and ends, and averaged over several models.

The spans of a question are an array (1 + n, 3): first character, end, score. Line 0 is "no answer", whose characters
mean nothing. The best spans follow, in order of their scores; lines without a span have the score minus infinity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

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


def empty_list(size: int) -> np.ndarray:
    """Return the array of a question without any span, fp32 (1 + size, 3)."""
    array = np.zeros((1 + size, 3), dtype=np.float32)
    array[:, SCORE] = -np.inf
    return array


def nbest(
    windows: Sequence[Window],
    spans: np.ndarray,
    *,
    size: int,
    longest: int,
) -> np.ndarray:
    """Return the array of the `size` best spans of a text. `spans` holds the characters of the text's pieces.

    A span has at most `longest` pieces, and begins and ends with a piece that has characters: pieces of white space
    have none. It must begin in the window in which its first piece has most context: where windows overlap, a piece at
    the edge of one window is inside another.
    """
    array = empty_list(size)
    array[NONE, SCORE] = min(window.null for window in windows)
    owned = _owned(windows)
    parts = [_best(window, owned[number], spans, size=size, longest=longest) for number, window in enumerate(windows)]
    lines = np.concatenate(parts)
    order = np.argsort(-lines[:, SCORE], kind="stable")[:size]
    array[1 : 1 + len(order)] = lines[order]
    return array


def _best(
    window: Window,
    owned: np.ndarray,
    spans: np.ndarray,
    *,
    size: int,
    longest: int,
) -> np.ndarray:
    """Return the best spans of a window with up to `longest` pieces, fp32 (spans, 3), in the order of their scores."""
    pieces = len(window.starts)
    if not pieces:
        return np.empty((0, 3), dtype=np.float32)
    characters = spans[window.first : window.first + pieces]
    has_text = characters[:, 0] < characters[:, 1]
    starts = np.where(owned & has_text, window.starts, -np.inf).astype(np.float32)
    width = min(longest, pieces)
    ends = np.full(pieces + width - 1, -np.inf, dtype=np.float32)
    ends[:pieces][has_text] = window.ends[has_text]
    following = np.lib.stride_tricks.sliding_window_view(ends, width)  # [i, j]: the end score of piece i + j
    scores = starts[:, None] + following  # [i, j]: the score of the span from piece i to piece i + j
    if window.null_piece >= 0:
        scores[window.null_piece, 0] = -np.inf
    # The `size` best spans begin with the `size` pieces whose own best spans score highest: other rows are dropped.
    best_begins = np.argsort(-scores.max(axis=1), kind="stable")[:size]
    begins = np.sort(best_begins)  # in the order of the text: of equal scores, the first span is taken
    scores = scores[begins].ravel()
    chosen = np.argsort(-scores, kind="stable")[:size]
    chosen = chosen[np.isfinite(scores[chosen])]
    first = begins[chosen // width]
    last = first + chosen % width
    lines = np.column_stack([characters[first, 0], characters[last, 1], scores[chosen]])
    return lines.astype(np.float32)


def _owned(windows: Sequence[Window]) -> list[np.ndarray]:
    """Return for each window which of its pieces have most context in it, bool (pieces,).

    The context of a piece is its distance from the nearer edge; among equal distances, the larger window has more.
    """
    if len(windows) == 1:
        return [np.ones(len(windows[0].starts), dtype=bool)]
    pieces = max(window.first + len(window.starts) for window in windows)
    context = np.full((len(windows), pieces), -1.0)
    for number, window in enumerate(windows):
        size = len(window.starts)
        place = np.arange(size)
        to_edge = np.minimum(place, size - 1 - place)
        context[number, window.first : window.first + size] = to_edge + 0.01 * size
    owner = context.argmax(axis=0)
    owned = []
    for number, window in enumerate(windows):
        owner_of_pieces = owner[window.first : window.first + len(window.starts)]
        owned.append(owner_of_pieces == number)
    return owned


def average(lists: Sequence[np.ndarray]) -> np.ndarray:
    """Return the spans with the best mean scores. Each member holds one model's spans, (questions, 1 + n, 3).

    A span that is not among a model's spans scores at most as much as the model's last span, whose score stands in.
    """
    questions = np.stack(lists, axis=1)  # (questions, models, 1 + n, 3)
    return np.stack([_average_of_question(members) for members in questions])


def _average_of_question(members: np.ndarray) -> np.ndarray:
    """Return the spans with the best mean scores for one question: (models, 1 + n, 3) -> (1 + n, 3)."""
    scores_of = [_scores_of_spans(member) for member in members]
    lowest = [min(scores.values(), default=-np.inf) for scores in scores_of]
    means = dict[Character, float]()
    for span in chain.from_iterable(scores_of):
        scores_of_span = [scores.get(span, low) for scores, low in zip(scores_of, lowest, strict=True)]
        means[span] = float(np.mean(scores_of_span))
    size = members.shape[1] - 1
    array = empty_list(size)
    no_answer = members[:, NONE, SCORE].astype(np.float64)
    array[NONE, SCORE] = no_answer.mean()
    best = sorted(means, key=lambda span: -means[span])
    for line, span in enumerate(best[:size], start=1):
        array[line] = (*span, means[span])
    return array


def _scores_of_spans(array: np.ndarray) -> dict[Character, float]:
    """Return the score of each span of a model. Several pieces may have the same characters: the best comes first."""
    scores = dict[Character, float]()
    for first, end, score in array[1:].tolist():
        if math.isfinite(score):
            scores.setdefault((first, end), score)
    return scores
