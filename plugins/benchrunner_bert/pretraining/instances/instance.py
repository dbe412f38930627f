"""A training instance: a sequence, and what is to be predicted in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from benchrunner.engine import Frame


@final
@dataclass(frozen=True)
class Instance:
    """A sequence, and what is to be predicted in it."""

    tokens: np.ndarray
    """int32 (n,)"""
    segments: np.ndarray
    """int8 (n,)"""
    positions: np.ndarray
    """int64 (k,): indices of the tokens whose states predict"""
    labels: np.ndarray
    """int32 (k,): the original tokens at these positions; with `ltr` the tokens after them"""
    is_next: int
    """1 where B follows A, 0 where it does not, -1 where the objective has no next sentences."""


def assembled(frame: Frame, first: np.ndarray, second: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Give tokens and segments of [CLS] A [SEP] or [CLS] A [SEP] B [SEP]; `Frame.join` does it for many sequences."""
    of_first = [frame.before, first, frame.after if second is None else frame.between]
    of_second = [] if second is None else [second, frame.after]
    tokens = np.concatenate([np.asarray(part, np.int32) for part in of_first + of_second])
    segments = np.full(len(tokens), frame.segments[0], dtype=np.int8)
    segments[sum(map(len, of_first)) :] = frame.segments[1]
    return tokens, segments
