"""The best spans of a text by their scores: found exactly, kept by character, averaged over several models.

A question's list is (1 + n, 3) numbers: from, to, score. The first line is the answer "none", whose place means
nothing; spans follow, the best first; lines that no span fills score minus infinity.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

FROM, TO, SCORE = range(3)
NONE = 0
"""The line of the answer "none"."""


@dataclass(frozen=True)
class Window:
    """A part of a text with the scores of its pieces."""

    first: int
    """Its first piece, counted over the text's."""
    starts: np.ndarray
    """fp32 (pieces,): the score of each as the first of an answer"""
    ends: np.ndarray
    """fp32 (pieces,): and as the last"""
    null: float
    """The score of "none" """


def nbest(windows: Sequence[Window], spans: np.ndarray, *, size: int, longest: int) -> np.ndarray:
    """The list of one text; `spans` are its pieces' characters, `longest` the most pieces of an answer.

    A span may begin only in the window in which its first piece has most context: windows overlap, and what one of
    them sees at its edge another sees in full.
    """
    found = np.zeros((1 + size, 3), dtype=np.float32)
    found[:, SCORE] = -np.inf
    found[NONE, SCORE] = min(window.null for window in windows)
    candidates = [_best(*one, size=size, longest=longest) for one in zip(windows, _owned(windows), strict=True)]
    scores = np.concatenate([scores for scores, _, _ in candidates])
    order = np.argsort(-scores, kind="stable")[:size]
    first, last = (np.concatenate([one[at] for one in candidates])[order] for at in (1, 2))
    lines = found[1 : 1 + len(order)]
    lines[:, FROM], lines[:, TO], lines[:, SCORE] = spans[first, 0], spans[last, 1], scores[order]
    return found


def _best(window: Window, owned: np.ndarray, *, size: int, longest: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, first and last pieces of a window's best spans: every start with every end that is not too far off."""
    pieces = len(window.starts)
    width = min(longest, max(pieces, 1))
    starts = np.where(owned, window.starts, -np.inf).astype(np.float32)
    ends = np.concatenate([window.ends, np.full(width - 1, -np.inf, dtype=np.float32)])
    if not pieces:
        return starts, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    scores = (starts[:, None] + np.lib.stride_tricks.sliding_window_view(ends, width)).ravel()
    chosen = np.sort(np.argpartition(-scores, size - 1)[:size]) if len(scores) > size else np.arange(len(scores))
    chosen = chosen[np.isfinite(scores[chosen])]
    first, further = np.divmod(chosen, width)
    return scores[chosen], window.first + first, window.first + first + further


def _owned(windows: Sequence[Window]) -> list[np.ndarray]:
    """For each window which of its pieces have most context there: the smaller side counts, then the window's size."""
    if len(windows) == 1:
        return [np.ones(len(windows[0].starts), dtype=bool)]
    context = np.full((len(windows), max(one.first + len(one.starts) for one in windows)), -1.0)
    for at, one in enumerate(windows):
        size = len(one.starts)
        place = np.arange(size)
        context[at, one.first : one.first + size] = np.minimum(place, size - 1 - place) + 0.01 * size
    owner = context.argmax(axis=0)
    return [owner[one.first : one.first + len(one.starts)] == at for at, one in enumerate(windows)]


def average(lists: Sequence[np.ndarray]) -> np.ndarray:
    """Several models' lists for the same questions, (questions, 1 + n, 3) each, as one of mean scores.

    A span that is not on a model's list scores there at most what the last on it does: that stands in.
    """
    return np.stack([_averaged(one) for one in zip(*lists, strict=True)])


def _averaged(members: Iterable[np.ndarray]) -> np.ndarray:
    members = list(members)
    known, least = [], []
    for one in members:
        scores = dict[tuple[float, float], float]()
        for first, last, score in one[1:][np.isfinite(one[1:, SCORE])].tolist():
            scores.setdefault((first, last), score)  # several pieces may stand for one character: the best comes first
        known.append(scores)
        least.append(min(scores.values(), default=-np.inf))
    union = dict.fromkeys(span for one in known for span in one)
    means = {
        span: float(np.mean([one.get(span, low) for one, low in zip(known, least, strict=True)])) for span in union
    }
    best = sorted(means, key=lambda span: -means[span])[: len(members[0]) - 1]
    found = np.zeros_like(members[0])
    found[:, SCORE] = -np.inf
    found[NONE, SCORE] = np.mean([float(one[NONE, SCORE]) for one in members])
    for line, span in enumerate(best, start=1):
        found[line] = (*span, means[span])
    return found
